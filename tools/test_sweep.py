"""python3 -m unittest discover tools; with FANFARE naming the command, it is run, too."""

import io
import os
import pathlib
import tempfile
import unittest

import sweep

FILES = pathlib.Path(__file__).parent.parent / "scenarios" / "files"


class Sweep(unittest.TestCase):
    def test_pieces_cover_every_seed_once(self):
        cut = sweep.pieces(5, 23, 10)
        self.assertEqual(cut, [(5, 10), (15, 10), (25, 3)])

    def test_every_combination_is_made(self):
        made = sweep.combinations([("a", ["1", "2"]), ("b", ["x", "y"])])
        self.assertEqual(len(made), 4)
        self.assertEqual(sweep.combinations([]), [{}])

    def test_twenty_runs_have_the_t_of_nineteen_degrees_of_freedom(self):
        runs, mean, ci95, least, most = sweep.summary([float(n) for n in range(20)])
        self.assertEqual((runs, mean, least, most), (20, 9.5, 0.0, 19.0))
        self.assertAlmostEqual(ci95, 2.093 * (35 / 20) ** 0.5)

    @unittest.skipUnless("FANFARE" in os.environ, "FANFARE does not name the command")
    def test_the_number_of_processes_and_the_size_of_pieces_do_not_show(self):
        outputs = set()
        for jobs, piece in [("1", "6"), ("2", "1")]:
            args = [str(FILES / "small.toml"), "--seeds", "6", "--jobs", jobs, "--piece", piece]
            with tempfile.TemporaryDirectory() as directory:
                path = pathlib.Path(directory) / "out.csv"
                args += ["--fanfare", os.environ["FANFARE"], "--out", str(path)]
                self.assertEqual(sweep.main(args), 0)
                outputs.add(path.read_text())
        self.assertEqual(len(outputs), 1)
        self.assertIn("small.toml,complete,6,1.0", outputs.pop())

    @unittest.skipUnless("FANFARE" in os.environ, "FANFARE does not name the command")
    def test_what_varies_is_a_variable_of_the_file(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "out.csv"
            args = [str(FILES / "road.toml"), "--seeds", "1", "--out", str(path)]
            args += ["--vary", "loss=0%,10%", "--vary", "duration=20s", "--vary", "warm_up=5s"]
            self.assertEqual(sweep.main(args + ["--fanfare", os.environ["FANFARE"]]), 0)
            sums = [line for line in path.read_text().splitlines() if "goodput_sum_bps" in line]
        self.assertEqual(len(sums), 2)
        clean, lossy = (float(line.split(",")[6]) for line in sums)
        self.assertLess(lossy, 0.95 * clean)

    def test_a_table_has_a_line_for_each_figure(self):
        out = io.StringIO()
        sweep.write({(("f.toml", "1%"), "nacks"): {2: 3.0, 1: 1.0}}, ["loss"], out)
        heading, line = out.getvalue().splitlines()
        self.assertEqual(heading, "scenario,loss,figure,runs,mean,ci95,min,max")
        self.assertTrue(line.startswith("f.toml,1%,nacks,2,2.0,"))


if __name__ == "__main__":
    unittest.main()
