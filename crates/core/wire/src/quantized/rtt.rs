//! RTT in one byte (RFC 5740 4.2.1).

/// RTT in one byte, logarithmic, about 1 us to 1000 s (RFC 5740 4.2.1). Quantising rounds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuantizedRtt(pub u8);

impl QuantizedRtt {
    /// The smallest wire value that is not below `nanos`; beyond 1000 s the greatest there is.
    ///
    /// Below 33 us the RFC's own code cuts fractions of a microsecond off where this rounds them
    /// up, so that the law "never below" has no exception; the results differ by at most 1 us.
    #[must_use]
    pub fn from_nanos(nanos: u64) -> Self {
        let index = NANOS.partition_point(|&value| value < nanos).min(NANOS.len() - 1);
        Self(u8::try_from(index).unwrap_or(u8::MAX))
    }
    /// The RTT this byte stands for, in nanoseconds.
    #[must_use]
    pub fn to_nanos(self) -> u64 {
        NANOS[usize::from(self.0)]
    }
}

impl core::fmt::Display for QuantizedRtt {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.to_nanos() {
            n @ ..1_000_000 => write!(f, "{}us", n / 1_000),
            n @ ..1_000_000_000 => write!(f, "{}.{}ms", n / 1_000_000, n / 100_000 % 10),
            n => write!(f, "{}.{:02}s", n / 1_000_000_000, n / 10_000_000 % 100),
        }
    }
}

/// Every value in nanoseconds: `(q + 1) us` for q below 31, else `1000 s / exp((255 - q) / 13)`
/// (RFC 5740 4.2.1), rounded to a whole nanosecond. A table, since `core` has no `exp`.
#[rustfmt::skip]
const NANOS: [u64; 256] = [
    1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000, 11_000, 12_000, 13_000,
    14_000, 15_000, 16_000, 17_000, 18_000, 19_000, 20_000, 21_000, 22_000, 23_000, 24_000,
    25_000, 26_000, 27_000, 28_000, 29_000, 30_000, 31_000, 32_868, 35_496, 38_334, 41_399,
    44_710, 48_285, 52_145, 56_315, 60_818, 65_681, 70_932, 76_604, 82_729, 89_344, 96_488,
    104_203, 112_535, 121_533, 131_251, 141_746, 153_080, 165_320, 178_539, 192_814, 208_232,
    224_881, 242_863, 262_282, 283_254, 305_902, 330_362, 356_777, 385_305, 416_114, 449_386,
    485_318, 524_124, 566_032, 611_291, 660_169, 712_956, 769_963, 831_529, 898_017, 969_821,
    1_047_367, 1_131_114, 1_221_557, 1_319_231, 1_424_715, 1_538_634, 1_661_662, 1_794_527,
    1_938_015, 2_092_977, 2_260_329, 2_441_063, 2_636_248, 2_847_040, 3_074_686, 3_320_535,
    3_586_042, 3_872_778, 4_182_442, 4_516_865, 4_878_029, 5_268_072, 5_689_301, 6_144_212,
    6_635_497, 7_166_065, 7_739_057, 8_357_864, 9_026_150, 9_747_872, 10_527_302, 11_369_055,
    12_278_113, 13_259_859, 14_320_104, 15_465_125, 16_701_701, 18_037_152, 19_479_385,
    21_036_937, 22_719_029, 24_535_620, 26_497_464, 28_616_174, 30_904_295, 33_375_372,
    36_044_033, 38_926_078, 42_038_568, 45_399_930, 49_030_063, 52_950_457, 57_184_323,
    61_756_724, 66_694_730, 72_027_574, 77_786_827, 84_006_584, 90_723_666, 97_977_840,
    105_812_050, 114_272_675, 123_409_804, 133_277_529, 143_934_266, 155_443_106, 167_872_182,
    181_295_073, 195_791_246, 211_446_518, 228_353_570, 246_612_493, 266_331_381, 287_626_972,
    310_625_337, 335_462_628, 362_285_884, 391_253_901, 422_538_171, 456_323_901, 492_811_103,
    532_215_786, 574_771_228, 620_729_360, 670_362_258, 723_963_754, 781_851_171, 844_367_208,
    911_881_966, 984_795_135, 1_063_538_369, 1_148_577_833, 1_240_416_967, 1_339_599_466,
    1_446_712_499, 1_562_390_183, 1_687_317_339, 1_822_233_545, 1_967_937_516, 2_125_291_831,
    2_295_228_039, 2_478_752_177, 2_676_950_721, 2_890_997_022, 3_122_158_251, 3_371_802_901,
    3_641_408_887, 3_932_572_298, 4_247_016_844, 4_586_604_062, 4_953_344_333, 5_349_408_790,
    5_777_142_164, 6_239_076_671, 6_737_946_999, 7_276_706_499, 7_858_544_670, 8_486_906_039,
    9_165_510_554, 9_898_375_607, 10_689_839_817, 11_544_588_713, 12_467_682_475, 13_464_585_891,
    14_541_200_706, 15_703_900_565, 16_959_568_741, 18_315_638_889, 19_780_139_048,
    21_361_739_175, 23_069_802_465, 24_914_440_788, 26_906_574_544, 29_057_997_323,
    31_381_445_714, 33_890_674_714, 36_600_539_154, 39_527_081_644, 42_687_627_542,
    46_100_887_528, 49_787_068_368, 53_767_992_539, 58_067_227_424, 62_710_224_828,
    67_724_471_659, 73_139_652_650, 78_987_826_094, 85_303_613_636, 92_124_405_230,
    99_490_580_495, 107_445_747_764, 116_037_002_248, 125_315_204_844, 135_335_283_237,
    146_156_557_072, 157_843_089_135, 170_464_064_609, 184_094_200_653, 198_814_188_738,
    214_711_172_342, 231_879_262_848, 250_420_096_694, 270_443_437_062, 292_067_823_691,
    315_421_274_639, 340_642_044_157, 367_879_441_171, 397_294_713_198, 429_062_000_943,
    463_369_369_231, 500_419_920_361, 540_432_996_487, 583_645_478_144, 630_313_186_597,
    680_712_398_323, 735_141_480_592, 793_922_657_818, 857_403_919_160, 925_961_078_642,
    1_000_000_000_000,
];

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn the_table_is_the_formula_of_the_rfc() {
        for q in 31..=255_u8 {
            let seconds = 1000.0 / (f64::from(255 - q) / 13.0).exp();
            let table = QuantizedRtt(q).to_nanos() as f64;
            assert!((table - seconds * 1e9).abs() <= 0.5 + table * 1e-12, "{q}");
        }
        for q in 0..31_u8 {
            assert_eq!(QuantizedRtt(q).to_nanos(), (u64::from(q) + 1) * 1_000);
        }
    }

    #[test]
    fn every_byte_decodes_and_encodes_to_itself() {
        for q in 0..=255 {
            assert_eq!(QuantizedRtt::from_nanos(QuantizedRtt(q).to_nanos()), QuantizedRtt(q));
        }
    }

    #[test]
    fn quantising_rounds_up_and_never_down() {
        for q in 0..255_u8 {
            let nanos = QuantizedRtt(q).to_nanos();
            assert_eq!(QuantizedRtt::from_nanos(nanos + 1), QuantizedRtt(q + 1));
        }
        assert_eq!(QuantizedRtt::from_nanos(0), QuantizedRtt(0));
        assert_eq!(QuantizedRtt::from_nanos(u64::MAX), QuantizedRtt(255));
    }

    /// The encoder of RFC 5740 4.2.1, in floats.
    fn rfc_encode(seconds: f64) -> u8 {
        let rtt = seconds.clamp(1e-6, 1000.0);
        if rtt < 3.3e-5 {
            ((rtt / 1e-6) + 1e-9) as u8 - 1
        } else {
            (255.0 - 13.0 * (1000.0 / rtt).ln()).ceil() as u8
        }
    }

    #[test]
    fn whole_microseconds_encode_as_the_rfc_encodes_them() {
        let mut micros = 1_u64;
        while micros < 2_000_000_000 {
            let expected = rfc_encode(micros as f64 / 1e6);
            assert_eq!(
                QuantizedRtt::from_nanos(micros * 1_000),
                QuantizedRtt(expected),
                "{micros}"
            );
            micros += 1 + micros / 997;
        }
    }

    #[test]
    fn the_default_estimates_of_the_rfc_and_of_the_reference_round_up() {
        assert_eq!(QuantizedRtt::from_nanos(500_000_000), QuantizedRtt(0x9d));
        assert_eq!(QuantizedRtt::from_nanos(250_000_000), QuantizedRtt(0x94));
        assert_eq!(std::format!("{}", QuantizedRtt(0x94)), "266.3ms");
    }
}
