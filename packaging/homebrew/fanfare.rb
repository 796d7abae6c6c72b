# Put the release's address and checksum in before it is published: packaging/release.sh prints the latter.
class Fanfare < Formula
  desc "Send files and messages to many machines at once, and know who has them"
  homepage "https://example.invalid/fanfare"
  url "https://example.invalid/fanfare/fanfare-0.1.0-source.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", "--locked", "--root", prefix, "--path", "crates/cli/cli"
    generate_completions_from_executable(bin/"fanfare", "completions", shells: [:bash, :zsh])
    man1.mkpath
    system bin/"fanfare", "man", "--dir", man1
  end

  test do
    assert_match "fanfare", shell_output("#{bin}/fanfare --version")
  end
end
