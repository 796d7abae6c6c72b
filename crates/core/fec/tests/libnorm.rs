//! Our parity is, byte for byte, what NRL's libnorm 1.5.9 sent.

use fanfare_fec::{Code, Field, Kernel, Matrix};

/// One parity symbol off the wire; the file's head says how it came about.
struct Vector {
    k: usize,
    parity: usize,
    segment: usize,
    object: usize,
    start: usize,
    block: usize,
    number: usize,
    payload: Vec<u8>,
}

fn vectors() -> Vec<Vector> {
    let lines = include_str!("../testdata/libnorm-1.5.9.txt").lines();
    lines.filter(|line| !line.starts_with('#')).map(vector).collect()
}

fn vector(line: &str) -> Vector {
    let fields: Vec<&str> = line.split(' ').collect();
    let [_, k, parity, segment, object, start, block, number, payload] = fields[..] else {
        panic!("nine fields expected: {line}");
    };
    let number_of = |field: &str| -> usize { field.parse().unwrap() };
    let payload = payload.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    Vector {
        k: number_of(k),
        parity: number_of(parity),
        segment: number_of(segment),
        object: number_of(object),
        start: number_of(start),
        block: number_of(block),
        number: number_of(number),
        payload: payload.map(byte).collect(),
    }
}

impl Vector {
    fn code(&self, kernel: Kernel) -> Code {
        let field = if self.k + self.parity > 255 { Field::Gf16 } else { Field::Gf8 };
        let code = Code::new(field, Matrix::Nrl, self.k, self.parity).unwrap();
        code.with_kernel(kernel).unwrap()
    }

    /// The block's segments, the object's last one as short as it is.
    fn source(&self) -> Vec<Vec<u8>> {
        let byte = |n: usize| (n * 7 + (n >> 8) * 31 + 3) as u8;
        let segments = self.start..self.start + self.block;
        let ends = segments.map(|i| (i * self.segment, ((i + 1) * self.segment).min(self.object)));
        ends.map(|(first, end)| (first..end).map(byte).collect()).collect()
    }
}

#[test]
fn parity_is_byte_for_byte_that_of_libnorm() {
    let vectors = vectors();
    assert!(vectors.len() > 60);
    for kernel in Kernel::available() {
        for vector in &vectors {
            let code = vector.code(kernel);
            let source = vector.source();
            let source: Vec<&[u8]> = source.iter().map(Vec::as_slice).collect();
            let mut out = vec![0; vector.payload.len()];
            code.encode(&source, vector.number, &mut [&mut out]);
            let (k, block, number) = (vector.k, vector.block, vector.number);
            assert_eq!(out, vector.payload, "{kernel:?} k {k} block {block} parity {number}");
        }
    }
}

#[test]
fn parity_of_libnorm_recovers_a_lost_segment() {
    for kernel in Kernel::available() {
        for vector in vectors() {
            let code = vector.code(kernel);
            let source = vector.source();
            let lost = vector.number % vector.block;
            let kept: Vec<(usize, &[u8])> =
                source.iter().map(Vec::as_slice).enumerate().filter(|&(i, _)| i != lost).collect();
            let mut out = vec![0; vector.payload.len()];
            let parity = [(vector.number, vector.payload.as_slice())];
            code.recover(vector.block, &kept, &parity, &mut [(lost, &mut out)]).unwrap();
            assert!(out.starts_with(&source[lost]));
            assert!(out[source[lost].len()..].iter().all(|&byte| byte == 0));
        }
    }
}
