//! Running a model with rten.

use super::bad;
use rten::{Model, ModelOptions, NodeId, OpRegistry, RunOptions, ThreadPool, Value, op_registry};
use samite_model::Result;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A model's bytes.
pub(crate) enum Bytes {
    /// They are part of the program.
    #[cfg(feature = "builtin")]
    Static(&'static [u8]),
    /// They were read.
    Read(Vec<u8>),
}

/// What a model can be given.
#[derive(Clone, Copy)]
enum Input {
    Ids,
    /// 1 where there is a token, 0 where there is padding.
    Mask,
    /// All are of the first and only sentence.
    Types,
}

/// A model that was loaded.
pub(super) struct Network {
    model: Model,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
}

/// A vector for each token of a batch, one after the other.
pub(super) struct Hidden {
    /// How many tokens each text has, padding among them.
    pub(super) tokens: usize,
    /// How many numbers a vector has.
    pub(super) dimensions: usize,
    /// Texts × tokens × dimensions numbers.
    pub(super) numbers: Vec<f32>,
}

impl Network {
    /// Loads a model, and looks what it takes and answers.
    pub(super) fn load(bytes: Bytes) -> Result<Self> {
        let options = ModelOptions::with_ops(operators());
        let loaded = guarded(|| match bytes {
            #[cfg(feature = "builtin")]
            Bytes::Static(bytes) => options.load_static_slice(bytes),
            Bytes::Read(bytes) => options.load(bytes),
        })?;
        let model = loaded.map_err(|error| bad(&error.to_string()))?;
        let mut inputs = Vec::new();
        for id in model.input_ids() {
            let name = model.node_info(*id).and_then(|node| node.name().map(str::to_owned)).unwrap_or_default();
            let input = match name.as_str() {
                "input_ids" => Input::Ids,
                "attention_mask" => Input::Mask,
                "token_type_ids" => Input::Types,
                _ => return Err(bad(&format!("it wants {name:?}, which nobody gives it"))),
            };
            inputs.push((*id, input));
        }
        if !inputs.iter().any(|(_, input)| matches!(input, Input::Ids)) {
            return Err(bad("it does not take `input_ids`"));
        }
        let named = ["last_hidden_state", "token_embeddings"].into_iter().find_map(|name| model.find_node(name));
        let named = named.filter(|id| model.output_ids().contains(id));
        let first = || model.output_ids().first().copied().ok_or_else(|| bad("it answers nothing"));
        let output = named.map_or_else(first, Ok)?;
        Ok(Self { model, inputs, output })
    }

    /// Runs a batch of tokens' numbers; shorter ones are padded at their end.
    pub(super) fn run(&self, batch: &[&[i32]], padding: i32, pool: Arc<ThreadPool>) -> Result<Hidden> {
        let longest = batch.iter().map(|sequence| sequence.len()).max().unwrap_or(0);
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for (node, input) in &self.inputs {
            let mut numbers = Vec::with_capacity(batch.len() * longest);
            for sequence in batch {
                let rest = longest - sequence.len();
                match input {
                    Input::Ids => {
                        numbers.extend_from_slice(sequence);
                        numbers.extend(std::iter::repeat_n(padding, rest));
                    }
                    Input::Mask => {
                        numbers.extend(std::iter::repeat_n(1, sequence.len()));
                        numbers.extend(std::iter::repeat_n(0, rest));
                    }
                    Input::Types => numbers.extend(std::iter::repeat_n(0, longest)),
                }
            }
            let value = Value::from_shape([batch.len(), longest], numbers).map_err(|error| bad(&error.to_string()))?;
            inputs.push((*node, value.into()));
        }
        let options = RunOptions::default().with_thread_pool(Some(pool));
        let answered = guarded(|| self.model.run_n(inputs, [self.output], Some(options)))?;
        let [output] = answered.map_err(|error| bad(&error.to_string()))?;
        let shaped = output.into_shape_vec::<f32, 3>();
        let (shape, numbers) =
            shaped.map_err(|_| bad("it does not answer a vector of floating-point numbers a token"))?;
        let [texts, tokens, dimensions] = shape;
        if (texts, tokens) != (batch.len(), longest) || dimensions == 0 {
            return Err(bad(&format!("it answered {texts} × {tokens} vectors to {} × {longest} tokens", batch.len())));
        }
        Ok(Hidden { tokens, dimensions, numbers })
    }
}

/// A file is not ours: one that makes the library panic is refused like any other.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| bad("the library that runs models gave up on it"))
}

/// What encoders are made of. No loops and no branches are among it: so a run takes as many operations as the file has, each bounded
/// by the batch.
fn operators() -> OpRegistry {
    op_registry!(
        Abs,
        Add,
        And,
        Cast,
        CastLike,
        Clip,
        Concat,
        ConstantOfShape,
        Cos,
        CumSum,
        DequantizeLinear,
        Div,
        DynamicQuantizeLinear,
        Einsum,
        Equal,
        Erf,
        Exp,
        Expand,
        Flatten,
        Floor,
        Gather,
        GatherElements,
        GatherND,
        Gelu,
        Gemm,
        Greater,
        GreaterOrEqual,
        Identity,
        IsInf,
        IsNaN,
        LayerNormalization,
        Less,
        LessOrEqual,
        Log,
        MatMul,
        MatMulInteger,
        Max,
        Mean,
        Min,
        Mod,
        Mul,
        Neg,
        NonZero,
        Not,
        Or,
        Pad,
        Pow,
        QuantizeLinear,
        Range,
        Reciprocal,
        ReduceMax,
        ReduceMean,
        ReduceMin,
        ReduceProd,
        ReduceSum,
        Relu,
        Reshape,
        RotaryEmbedding,
        ScatterElements,
        ScatterND,
        Shape,
        Sigmoid,
        Sign,
        Sin,
        Size,
        Slice,
        Softmax,
        Softplus,
        Split,
        Sqrt,
        Squeeze,
        Sub,
        Sum,
        Tanh,
        Tile,
        Transpose,
        Trilu,
        Unsqueeze,
        Where,
        Xor
    )
}
