//! Paths that take only packets of 1,280 bytes, as many tunnels do.

use crate::{
    faults::{MUCH, SOCKS, in_the_middle},
    road::Road,
};

#[test]
fn both_carriers_bring_downloads_and_uploads_over_a_path_of_1280_bytes() {
    let Some(road) = Road::with_router(1280) else { return };
    let (_web, _server) = (road.web(), road.server(&[]));
    let _echo = road.python("far", crate::scripts::AFTER_END);
    for carrier in ["norm", "quic"] {
        let mut client = road.client(&["--carrier", carrier]);
        client.wait_for_link("connected");
        for bytes in [1000, 3_000_000] {
            let got = (format!("200 {bytes}"), Some(0));
            assert_eq!(road.curl(bytes, &SOCKS), got, "{carrier}");
        }
        assert_eq!(road.half_close(1_000_000), "1000000", "{carrier}");
    }
}

#[test]
fn by_each_carrier_a_download_goes_on_when_the_path_becomes_one_of_1280_bytes() {
    for carrier in ["norm", "quic"] {
        let Some(road) = Road::with_router(1500) else { return };
        let (_web, _server) = (road.web(), road.server(&[]));
        let mut client = road.client(&["--carrier", carrier]);
        client.wait_for_link("connected");
        let mut curl = in_the_middle(&road);
        road.set_mtu(1280);
        assert!(curl.wait().unwrap().success(), "{carrier}: the download goes on");
        assert!(road.got_is_right(MUCH), "{carrier}");
    }
}
