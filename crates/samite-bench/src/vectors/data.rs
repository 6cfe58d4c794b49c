//! Made-up vectors, the same in each run.

/// So many dimensions, as small models of sentences have.
pub(super) const DIMENSIONS: usize = 384;
/// So many topics clustered vectors are about.
const TOPICS: usize = 2_000;

/// How vectors lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In all directions alike: the hardest to round, since the best are hardly better than the others.
    Gaussian,
    /// Around topics, some of which are far more frequent than others, and with some dimensions that weigh more than others: like
    /// vectors of texts.
    Clustered,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Clustered => "clustered",
        }
    }
}

/// Makes vectors, one after the other.
pub(super) struct Source {
    state: u64,
    weights: Vec<f32>,
    topics: Vec<Vec<f32>>,
}

impl Source {
    pub(super) fn new(kind: Kind) -> Self {
        let mut source = Self { state: 20, weights: vec![1.0; DIMENSIONS], topics: Vec::new() };
        if kind == Kind::Clustered {
            source.weights = source.normal().into_iter().map(|weight| (weight * 0.5).exp()).collect();
            source.topics = (0..TOPICS).map(|_| source.normal()).collect();
        }
        source
    }

    /// A vector of length 1.
    pub(super) fn next(&mut self) -> Vec<f32> {
        let own = self.normal();
        // The square makes the first topics more frequent.
        let at = self.fraction().powi(2) * crate::turns::count(self.topics.len());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the number of topics")]
        let topic = self.topics.get(at as usize);
        let mut vector: Vec<f32> = match topic {
            None => own,
            Some(topic) => topic.iter().zip(own).map(|(topic, own)| topic + 0.8 * own).collect(),
        };
        for (component, weight) in vector.iter_mut().zip(&self.weights) {
            *component *= weight;
        }
        let length = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
        for component in &mut vector {
            *component /= length;
        }
        vector
    }

    /// The next of the numbers of `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014), as a fraction from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    fn fraction(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normally distributed components, two at a time (Box and Muller).
    #[expect(clippy::cast_possible_truncation, reason = "vectors are of floats of 32 bits")]
    fn normal(&mut self) -> Vec<f32> {
        let mut components = Vec::with_capacity(DIMENSIONS);
        while components.len() < DIMENSIONS {
            let (length, angle) = (self.fraction(), self.fraction() as f32 * std::f32::consts::TAU);
            let length = (-2.0 * (1.0 - length).ln()).sqrt() as f32;
            components.extend([length * angle.cos(), length * angle.sin()]);
        }
        components
    }
}
