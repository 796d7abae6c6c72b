//! The module behind the wheel `fanfare`.
