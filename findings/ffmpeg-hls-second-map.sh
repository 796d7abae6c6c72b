#!/bin/sh
# How ffmpeg 7.0.2 (static, from imageio-ffmpeg 0.6.0 of PyPI) decodes a media list of HLS with fMP4 in which
# the rendition changes: EXT-X-DISCONTINUITY and a second EXT-X-MAP (RFC 8216 4.3.2.5 allows several). Expected:
# the second part is decoded with the parameter sets of its own map. Seen: it is decoded with those of the
# first map, with errors and pictures of the first size. Each part alone, and the same list with parameter sets
# in each segment (dump_extra), are decoded without an error. Needs python3 with pip. Ends with 0 while it is
# so, and with 1 when it has changed.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m pip install -q --no-deps --target lib imageio-ffmpeg==0.6.0 2>/dev/null
ffmpeg=$(find "$place/lib" -name 'ffmpeg-linux*' | head -n 1)
"$ffmpeg" -version | head -n 1

# encode NAME SIZE RATE [FILTER]: two seconds in segments of one second.
encode() {
    mkdir "$1"
    "$ffmpeg" -loglevel error -f lavfi -i "testsrc2=size=$2:rate=25" -t 2 -c:v libx264 -preset veryfast \
        -profile:v main -b:v "$3" -g 25 -sc_threshold 0 -bf 0 -pix_fmt yuv420p ${4:+-bsf:v "$4"} \
        -f hls -hls_time 1 -hls_segment_type fmp4 -hls_flags independent_segments -hls_list_size 0 \
        -hls_segment_filename "$1/%d.m4s" "$1/list.m3u8"
}

# both ONE TWO: a list of the first segments of one and the second of two, each with its map.
both() {
    printf '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:0\n'
    printf '#EXT-X-MAP:URI="%s/init.mp4"\n#EXTINF:1.0,\n%s/0.m4s\n' "$1" "$1"
    printf '#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="%s/init.mp4"\n#EXTINF:1.0,\n%s/1.m4s\n#EXT-X-ENDLIST\n' "$2" "$2"
}

# errors LIST: lines that ffmpeg prints while it decodes.
errors() { "$ffmpeg" -loglevel error -i "$1" -f null - 2>&1 | grep -c . || true; }

encode small 320x180 100k
encode large 640x360 400k
encode small_sets 320x180 100k dump_extra=freq=k
encode large_sets 640x360 400k dump_extra=freq=k
both small large >plain.m3u8
both small_sets large_sets >sets.m3u8
alone=$(($(errors small/list.m3u8) + $(errors large/list.m3u8)))
plain=$(errors plain.m3u8)
sets=$(errors sets.m3u8)
echo "errors: each alone $alone, with a second map $plain, with parameter sets in each segment $sets"
if [ "$alone" -eq 0 ] && [ "$plain" -gt 0 ] && [ "$sets" -eq 0 ]; then
    echo "as told: the second map's parameter sets are not used"
else
    echo "changed"
    exit 1
fi
