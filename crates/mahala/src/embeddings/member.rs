//! The members of the family: closed forms from two sums, with their settings.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A closed form. With `S̄v = 1/μ · D̄v` the pencil's directions:
///
/// | form | metric | weight of a direction |
/// |---|---|---|
/// | plain | I | (embeddings as they are) |
/// | centred | I, about the mean | (the same as plain under L2) |
/// | whitening | T⁻¹, T the covariance of all rows | |
/// | wccn | S⁻¹ | 1 |
/// | pencil | | μᵖ |
/// | kissme | (S⁻¹ − D⁻¹)₊ in these directions | max(0, 1 − 1/μ) |
/// | lda | the first r directions | 1, else 0 |
/// | gmml | S⁻¹ ♯_t D | (in the eigenvectors of DS) |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the table above")]
pub enum Form {
    Plain,
    Centred,
    Whitening,
    Wccn,
    Pencil,
    Kissme,
    Lda,
    Gmml,
}

/// One closed form with its settings.
///
/// ```
/// use mahala::embeddings::{Form, Member};
/// let member = Member { t: Some(0.3), ..Member::new(Form::Gmml, 0.1) };
/// assert_eq!(member.to_string(), "gmml (shrinkage 0.1, t 0.3)");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Which closed form.
    pub form: Form,
    /// The share of a multiple of the identity in S: little for many rows, much for few.
    #[serde(default)]
    pub shrinkage: f64,
    /// The place on the geodesic, for gmml.
    #[serde(default)]
    pub t: Option<f64>,
    /// The exponent of μ, for pencil.
    #[serde(default)]
    pub power: Option<f64>,
    /// `within` of S, instead of all of it, in D, for gmml from labels.
    #[serde(default = "one")]
    pub within: f64,
    /// The share of directions kept, for lda.
    #[serde(default = "one")]
    pub share_of_directions: f64,
    /// The weight of the plain metric beside the form's, both of the same mean square over the rows. It is all the weight
    /// of what lies outside the directions that labels say something about, where the form gives them none.
    #[serde(default)]
    pub plain_share: f64,
}

fn one() -> f64 {
    1.0
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Centred => "centred",
            Self::Whitening => "whitening",
            Self::Wccn => "wccn",
            Self::Pencil => "pencil",
            Self::Kissme => "kissme",
            Self::Lda => "lda",
            Self::Gmml => "gmml",
        }
    }

    /// Whether rows keep their angles: nothing was learned but a mean.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Self::Plain | Self::Centred)
    }
}

impl Member {
    /// A form with a shrinkage, and no other setting.
    pub fn new(form: Form, shrinkage: f64) -> Self {
        let (t, power) = (None, None);
        Self { form, shrinkage, t, power, within: 1.0, share_of_directions: 1.0, plain_share: 0.0 }
    }

    /// Refuses settings outside their range.
    pub(crate) fn check(&self) -> Result<()> {
        let share = "between 0 and 1";
        for (name, value, right, allowed) in [
            ("shrinkage", self.shrinkage, (0.0..=1.0).contains(&self.shrinkage), share),
            ("t", self.t.unwrap_or(0.0), (0.0..=1.0).contains(&self.t.unwrap_or(0.0)), share),
            ("power", self.power.unwrap_or(0.0), self.power.is_none_or(f64::is_finite), "a finite number"),
            ("within", self.within, (0.0..=1.0).contains(&self.within), share),
            (
                "share_of_directions",
                self.share_of_directions,
                self.share_of_directions > 0.0 && self.share_of_directions <= 1.0,
                "above 0 and at most 1",
            ),
            ("plain_share", self.plain_share, (0.0..=1.0).contains(&self.plain_share), share),
        ] {
            if !right {
                return Err(Error::Parameter { name, value: value.to_string(), allowed });
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        if !self.form.is_plain() {
            parts.push(format!("shrinkage {}", self.shrinkage));
        }
        parts.extend(self.t.map(|t| format!("t {t}")));
        parts.extend(self.power.map(|power| format!("power {power}")));
        if self.within != 1.0 {
            parts.push(format!("within {}", self.within));
        }
        if self.share_of_directions != 1.0 {
            parts.push(format!("{:.0} % of directions", 100.0 * self.share_of_directions));
        }
        if self.plain_share > 0.0 {
            parts.push(format!("plain share {}", self.plain_share));
        }
        f.write_str(self.form.name())?;
        if parts.is_empty() { Ok(()) } else { write!(f, " ({})", parts.join(", ")) }
    }
}

/// All that are tried, from the mildest to the strongest; the first is plain.
pub(crate) fn members(from_labels: bool) -> Vec<Member> {
    let mut found = vec![Member::new(Form::Plain, 0.0), Member::new(Form::Centred, 0.0)];
    let withins: &[f64] = if from_labels { &[1.0, 0.1] } else { &[1.0] };
    for shrinkage in [0.7, 0.3, 0.1, 0.03] {
        for &within in withins {
            let at = |t| Member { t: Some(t), within, ..Member::new(Form::Gmml, shrinkage) };
            found.extend([0.1, 0.2, 0.3, 0.5, 0.7].map(at));
        }
        found.extend([0.5, 1.0].map(|p| Member { power: Some(p), ..Member::new(Form::Pencil, shrinkage) }));
        found.extend([Form::Wccn, Form::Kissme].map(|form| Member::new(form, shrinkage)));
        if from_labels {
            let lda = |share| Member { share_of_directions: share, ..Member::new(Form::Lda, shrinkage) };
            found.extend([1.0, 0.5].map(lda));
        }
    }
    found.extend([0.3, 0.1].map(|shrinkage| Member::new(Form::Whitening, shrinkage)));
    found
}

/// A member with shares of the plain metric.
pub(crate) fn blends(member: Member) -> Vec<Member> {
    if member.form.is_plain() {
        return Vec::new();
    }
    [0.1, 0.3, 0.6].map(|plain_share| Member { plain_share, ..member }).to_vec()
}
