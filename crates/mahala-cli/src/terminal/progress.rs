//! Progress on stderr: only on a terminal, and only for what takes more than a second.

use crate::terminal::format::seconds;
use crate::terminal::message::print_detail;
use crate::terminal::talk::{Level, says};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use mahala::progress::{Step, Stop};
use mahala_io::ReadProgress;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A bar or spinner that appears after a second.
pub(crate) struct Bar {
    shown: ProgressBar,
    over: Arc<AtomicBool>,
    message: String,
    start: Instant,
}

impl Bar {
    /// A bar over `total` steps.
    pub(crate) fn over(message: &str, total: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
        Self::appearing(bar, "{msg} {wide_bar} {pos}/{len}, {eta} left", message)
    }

    /// A spinner for work whose length is not known.
    pub(crate) fn spinner(message: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Self::appearing(bar, "{spinner} {msg} ({elapsed})", message)
    }

    /// A spinner with the share of bytes that are read, where their number is known.
    pub(crate) fn reading(message: &str, progress: Arc<ReadProgress>) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let share = move |_: &ProgressState, to: &mut dyn std::fmt::Write| {
            // A line that cannot be written is drawn again a moment later.
            let _ = progress.share().map_or(Ok(()), |share| write!(to, "{:.0} %, ", 100.0 * share));
        };
        let styled = Self::appearing(bar, "{spinner} {msg}", message);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({share}{elapsed})") {
            styled.shown.set_style(style.with_key("share", share));
        }
        styled
    }

    fn appearing(bar: ProgressBar, template: &str, message: &str) -> Self {
        bar.set_message(crate::terminal::message::printable(message).into_owned());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let over = Arc::new(AtomicBool::new(false));
        let (later_bar, later_over) = (bar.clone(), Arc::clone(&over));
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(1));
            if !later_over.load(Ordering::Relaxed) && says(Level::Normal) {
                later_bar.set_draw_target(ProgressDrawTarget::stderr());
                later_bar.enable_steady_tick(Duration::from_millis(200));
            }
        });
        Self { shown: bar, over, message: message.to_owned(), start: Instant::now() }
    }

    /// Shows how far a computation of the library is, and lets it go on.
    pub(crate) fn show(&self, step: Step) -> ControlFlow<Stop> {
        if let Some(total) = step.total {
            self.at(step.done, total);
        }
        ControlFlow::Continue(())
    }

    /// Shows how far the work is.
    pub(crate) fn at(&self, done: usize, total: usize) {
        self.shown.set_length(total as u64);
        self.shown.set_position(done as u64);
    }

    /// Says something else.
    pub(crate) fn tell(&self, message: &str) {
        self.shown.set_message(crate::terminal::message::printable(message).into_owned());
    }

    /// One more step is done.
    pub(crate) fn step(&self) {
        self.shown.inc(1);
    }

    /// Takes the bar away.
    pub(crate) fn finish(self) {
        drop(self);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.shown.finish_and_clear();
        let took = seconds(self.start.elapsed().as_secs_f64());
        print_detail(&format!("{}: {took}", self.message));
    }
}
