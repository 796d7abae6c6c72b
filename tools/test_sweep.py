"""python3 -m unittest discover tools; with FANFARE naming the command, it is run, too."""

import contextlib
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
        made = list(sweep.combinations([("a", ["1", "2"]), ("b", ["x", "y"])]))
        self.assertEqual(len(made), 4)
        self.assertIn((("2", "x"), {"a": "2", "b": "x"}), made)
        self.assertEqual(list(sweep.combinations([])), [((), {})])

    def test_an_experiment_says_what_varies_and_where_keeps_some_of_it(self):
        schemes = [{"name": "era", "cc": "era"}, {"name": "plm", "cc": "plm", "leave": "2s"}]
        sizes = {"name": "sessions", "values": [2, 16]}
        tables = {"set": {"leave": "0s"}, "vary": [{"name": "scheme", "values": schemes}, sizes]}
        names, cells = sweep.experiment_cells(tables, {"sessions": ["16"]})
        self.assertEqual(names, ["scheme", "sessions"])
        self.assertEqual([labels for labels, _ in cells], [("era", "16"), ("plm", "16")])
        self.assertEqual(cells[1][1], {"leave": "2s", "cc": "plm", "sessions": "16"})

    def test_only_variables_of_the_scenario_are_given_and_may_name_others(self):
        values = {"fair": "{ packets = ${n} }", "n": "40", "queue": "${fair}", "rate": "${rtt}"}
        text = "queue = ${queue}\nrate = ${rate}"
        self.assertEqual(
            sweep.filled(values, text), {"queue": "{ packets = 40 }", "rate": "${rtt}"}
        )
        with self.assertRaisesRegex(sweep.Mistake, "names itself"):
            sweep.filled({"queue": "${queue}"}, text)

    def error_of(self, *args):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            self.assertEqual(sweep.main(list(args)), 2)
        return errors.getvalue()

    def test_bad_input_is_told_in_one_line_and_nothing_is_run(self):
        experiment = str(FILES.parent / "experiments" / "layers-sessions.toml")
        small = str(FILES / "small.toml")
        for args, said in [
            (["nowhere.toml"], "error: scenario (nowhere.toml): No such file"),
            ([small, "--where", "a=1"], "is no experiment's file"),
            ([experiment, "--where", "size=1"], "where (size): does not vary here. One of scheme"),
            ([experiment, "--where", "sessions=17"], "where (sessions=17): has no such value"),
            ([experiment, "--vary", "cc=era"], "Use --where"),
            ([small, "--out", "/nowhere/out.csv"], "error: out (/nowhere/out.csv): No such file"),
            ([small, "--fanfare", "no-such-command"], "error: fanfare (no-such-command)"),
        ]:
            text = self.error_of(*args, "--seeds", "1")
            self.assertIn(said, text)
            self.assertEqual(text.strip().count("\n"), 0, text)

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
