#include "cuda/nn/rnn.h"

#include <map>
#include <tuple>

#include "base/error.h"
#include "cuda/device.h"
#include "cuda/nn/cudnn.h"
#include "cuda/workspace.h"
#include "tensor/backend.h"

namespace facula::cuda {

namespace {

// Numbers of cuDNN's enumerations.
constexpr int kStandard = 0, kTraining = 1, kInference = 0, kLinearInput = 0, kPacked = 1;
constexpr int kNoBias = 0, kTwoBiases = 2;
constexpr int kDefaultMath = 0, kTensorMath = 1, kPlainMath = 3;
constexpr int kAddGradients = 0;
constexpr int kProjection = 8;  // the last matrix of an LSTM

struct Functions {
  int (*create_rnn)(void** desc);
  int (*set_rnn)(void* desc, int algorithm, int mode, int biases, int directions, int input,
                 int type, int precision, int math, int32_t input_size, int32_t hidden,
                 int32_t state, int32_t n_layers, void* dropout, uint32_t flags);
  int (*create_dropout)(void** desc);
  int (*set_dropout)(void* desc, void* handle, float p, void* states, size_t nbytes,
                     unsigned long long seed);
  int (*create_data)(void** desc);
  int (*destroy_data)(void* desc);
  int (*set_data)(void* desc, int type, int layout, int n_steps, int n_batch, int size,
                  const int* lengths, void* fill);
  int (*create_tensor)(void** desc);
  int (*destroy_tensor)(void* desc);
  int (*set_tensor)(void* desc, int type, int n_dims, const int* sizes, const int* strides);
  int (*weight_bytes)(void* handle, void* rnn, size_t* nbytes);
  int (*weight_place)(void* handle, void* rnn, int32_t layer, size_t nbytes, const void* weights,
                      int32_t id, void* matrix, void** matrix_at, void* bias, void** bias_at);
  int (*temporary_bytes)(void* handle, void* rnn, int mode, void* x, size_t* workspace,
                         size_t* reserve);
  int (*forward)(void* handle, void* rnn, int mode, const int32_t* lengths, void* x_desc,
                 const void* x, void* y_desc, void* y, void* h_desc, const void* hx, void* hy,
                 void* c_desc, const void* cx, void* cy, size_t weight_bytes, const void* weights,
                 size_t workspace_bytes, void* workspace, size_t reserve_bytes, void* reserve);
  int (*backward_data)(void* handle, void* rnn, const int32_t* lengths, void* y_desc, const void* y,
                       const void* dy, void* x_desc, void* dx, void* h_desc, const void* hx,
                       const void* dhy, void* dhx, void* c_desc, const void* cx, const void* dcy,
                       void* dcx, size_t weight_bytes, const void* weights, size_t workspace_bytes,
                       void* workspace, size_t reserve_bytes, void* reserve);
  int (*backward_weights)(void* handle, void* rnn, int add, const int32_t* lengths, void* x_desc,
                          const void* x, void* h_desc, const void* hx, void* y_desc, const void* y,
                          size_t weight_bytes, void* weights, size_t workspace_bytes,
                          void* workspace, size_t reserve_bytes, void* reserve);
};

template <class F>
void load(F*& function, const char* name) {
  function = reinterpret_cast<F*>(cudnn::symbol(name));
}

const Functions& functions() {
  static const Functions loaded = [] {
    Functions f;
    load(f.create_rnn, "cudnnCreateRNNDescriptor");
    load(f.set_rnn, "cudnnSetRNNDescriptor_v8");
    load(f.create_dropout, "cudnnCreateDropoutDescriptor");
    load(f.set_dropout, "cudnnSetDropoutDescriptor");
    load(f.create_data, "cudnnCreateRNNDataDescriptor");
    load(f.destroy_data, "cudnnDestroyRNNDataDescriptor");
    load(f.set_data, "cudnnSetRNNDataDescriptor");
    load(f.create_tensor, "cudnnCreateTensorDescriptor");
    load(f.destroy_tensor, "cudnnDestroyTensorDescriptor");
    load(f.set_tensor, "cudnnSetTensorNdDescriptor");
    load(f.weight_bytes, "cudnnGetRNNWeightSpaceSize");
    load(f.weight_place, "cudnnGetRNNWeightParams");
    load(f.temporary_bytes, "cudnnGetRNNTempSpaceSizes");
    load(f.forward, "cudnnRNNForward");
    load(f.backward_data, "cudnnRNNBackwardData_v8");
    load(f.backward_weights, "cudnnRNNBackwardWeights_v8");
    return f;
  }();
  return loaded;
}

// A descriptor for the time of a call.
class Temporary {
 public:
  Temporary(int (*create)(void**), int (*destroy)(void*)) : destroy_(destroy) {
    cudnn::check_status(create(&desc_), "making a descriptor");
  }
  ~Temporary() { destroy_(desc_); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  void* get() const { return desc_; }

 private:
  int (*destroy_)(void*);
  void* desc_ = nullptr;
};

// A network of these sizes, and where its parameters are in the one piece of memory that cuDNN
// wants for all of them: offsets in the order of the parameters.
struct Network {
  void* desc = nullptr;
  size_t weight_bytes = 0;
  std::vector<int64_t> offsets;
};

Network make_network(const RnnStack& s, DType dtype, int index) {
  const Functions& f = functions();
  void *handle = cudnn::handle_of(index), *dropout = nullptr;
  Network network;
  cudnn::check_status(f.create_dropout(&dropout), "cudnnCreateDropoutDescriptor");
  cudnn::check_status(f.set_dropout(dropout, handle, 0, nullptr, 0, 0),
                      "cudnnSetDropoutDescriptor");
  cudnn::check_status(f.create_rnn(&network.desc), "cudnnCreateRNNDescriptor");
  constexpr int modes[] = {1, 0, 2, 3};  // of Tanh, Relu, Lstm, Gru
  int type = cudnn::type_of(dtype);
  int precision = dtype == DType::Float64 ? type : cudnn::type_of(DType::Float32);
  int math = dtype == DType::Float16                                    ? kTensorMath
             : dtype == DType::Float32 && !cudnn::settings().allow_tf32 ? kPlainMath
                                                                        : kDefaultMath;
  cudnn::check_status(
      f.set_rnn(network.desc, kStandard, modes[static_cast<int>(s.mode)],
                s.has_biases ? kTwoBiases : kNoBias, s.n_directions == 2 ? 1 : 0, kLinearInput,
                type, precision, math, static_cast<int32_t>(s.input_size),
                static_cast<int32_t>(s.hidden), static_cast<int32_t>(s.state),
                static_cast<int32_t>(s.n_layers), dropout, 0),
      "cudnnSetRNNDescriptor");
  cudnn::check_status(f.weight_bytes(handle, network.desc, &network.weight_bytes),
                      "cudnnGetRNNWeightSpaceSize");
  // Addresses are asked for in memory that begins at a number of our choice.
  char* base = reinterpret_cast<char*>(uintptr_t(1) << 20);
  Temporary matrix(f.create_tensor, f.destroy_tensor), bias(f.create_tensor, f.destroy_tensor);
  auto n_gates = static_cast<int32_t>(cpu::n_gates(s.mode));
  for (int32_t layer = 0; layer < s.n_layers * s.n_directions; ++layer) {
    auto places = [&](int32_t id) {
      void *matrix_at = nullptr, *bias_at = nullptr;
      cudnn::check_status(f.weight_place(handle, network.desc, layer, network.weight_bytes, base,
                                         id, matrix.get(), &matrix_at, bias.get(), &bias_at),
                          "cudnnGetRNNWeightParams");
      return std::make_pair(static_cast<char*>(matrix_at) - base,
                            bias_at ? static_cast<char*>(bias_at) - base : 0);
    };
    auto of_input = places(0), of_hidden = places(n_gates);
    network.offsets.push_back(of_input.first);
    network.offsets.push_back(of_hidden.first);
    if (s.has_biases) {
      network.offsets.push_back(of_input.second);
      network.offsets.push_back(of_hidden.second);
    }
    if (s.state != s.hidden) network.offsets.push_back(places(kProjection).first);
  }
  return network;
}

const Network& network_of(const RnnStack& s, DType dtype, int index) {
  using Key = std::tuple<int, DType, cpu::RnnMode, bool, bool, std::vector<int64_t>>;
  static auto* networks = new std::map<Key, Network>;  // guarded by the interpreter lock
  Key key(index, dtype, s.mode, s.has_biases, cudnn::settings().allow_tf32,
          {s.n_layers, s.n_directions, s.input_size, s.hidden, s.state});
  auto found = networks->find(key);
  if (found == networks->end())
    found = networks->emplace(std::move(key), make_network(s, dtype, index)).first;
  return found->second;
}

// The descriptors of a call.
struct Call {
  const RnnStack& stack;
  int index;
  void* handle;
  const Network& network;
  Temporary x, y, h, c;

  Call(const RnnStack& s, const Tensor& input)
      : stack(s),
        index(input.device().index),
        handle(cudnn::handle_of(index)),
        network(network_of(s, input.dtype(), index)),
        x(functions().create_data, functions().destroy_data),
        y(functions().create_data, functions().destroy_data),
        h(functions().create_tensor, functions().destroy_tensor),
        c(functions().create_tensor, functions().destroy_tensor) {
    int type = cudnn::type_of(input.dtype());
    int n_steps = static_cast<int>(s.first_row.size()) - 1,
        n_batch = static_cast<int>(s.first_row[1]);
    std::vector<int> lengths(static_cast<size_t>(n_batch), 0);
    for (int t = 0; t < n_steps; ++t)
      for (int64_t i = 0; i < s.first_row[t + 1] - s.first_row[t]; ++i) ++lengths[i];
    auto set_data = [&](const Temporary& desc, int64_t size) {
      cudnn::check_status(functions().set_data(desc.get(), type, kPacked, n_steps, n_batch,
                                               static_cast<int>(size), lengths.data(), nullptr),
                          "cudnnSetRNNDataDescriptor");
    };
    set_data(x, s.input_size);
    set_data(y, s.n_directions * s.state);
    auto set_states = [&](const Temporary& desc, int64_t size) {
      int sizes[] = {static_cast<int>(s.n_layers * s.n_directions), n_batch,
                     static_cast<int>(size)};
      int strides[] = {sizes[1] * sizes[2], sizes[2], 1};
      cudnn::check_status(functions().set_tensor(desc.get(), type, 3, sizes, strides),
                          "cudnnSetTensorNdDescriptor");
    };
    set_states(h, s.state);
    set_states(c, s.hidden);
  }
  std::pair<int64_t, int64_t> temporary_bytes(bool is_training) const {
    size_t workspace = 0, reserve = 0;
    cudnn::check_status(
        functions().temporary_bytes(handle, network.desc, is_training ? kTraining : kInference,
                                    x.get(), &workspace, &reserve),
        "cudnnGetRNNTempSpaceSizes");
    return {static_cast<int64_t>(workspace), static_cast<int64_t>(reserve)};
  }
};

void* data_of(const TensorList& list, size_t i) {
  return i < list.size() && list[i].defined() ? list[i].address() : nullptr;
}
size_t n_states(const RnnStack& s) { return s.mode == cpu::RnnMode::Lstm ? 2 : 1; }

Tensor bytes_on(Device device, int64_t n) { return empty({n}, DType::UInt8, device); }

}  // namespace

bool can_run_rnn(DType dtype) {
  return cudnn::is_enabled() && cudnn::type_of(dtype) >= 0 && dtype != DType::BFloat16;
}

RnnTape rnn(const RnnStack& stack, const TensorList& inputs, const TensorList& outputs,
            bool is_training) {
  Device device = inputs[0].device();
  Call call(stack, inputs[0]);
  const Network& network = call.network;
  RnnTape tape;
  tape.weights = bytes_on(device, static_cast<int64_t>(network.weight_bytes));
  for (size_t i = 0; i < network.offsets.size(); ++i) {
    const Tensor& parameter = inputs[1 + n_states(stack) + i];
    backend_of(device).copy_bytes(tape.weights.address() + network.offsets[i], device,
                                  parameter.address(), device,
                                  parameter.numel() * parameter.itemsize());
  }
  auto [workspace_bytes, reserve_bytes] = call.temporary_bytes(is_training);
  Workspace workspace(device, workspace_bytes);
  if (is_training) tape.reserve = bytes_on(device, reserve_bytes);
  bool has_cells = n_states(stack) == 2;
  cudnn::check_status(
      functions().forward(call.handle, network.desc, is_training ? kTraining : kInference, nullptr,
                          call.x.get(), inputs[0].address(), call.y.get(), outputs[0].address(),
                          call.h.get(), inputs[1].address(), outputs[1].address(), call.c.get(),
                          has_cells ? inputs[2].address() : nullptr,
                          has_cells ? outputs[2].address() : nullptr, network.weight_bytes,
                          tape.weights.address(), static_cast<size_t>(workspace_bytes),
                          workspace.data(), is_training ? static_cast<size_t>(reserve_bytes) : 0,
                          is_training ? tape.reserve.address() : nullptr),
      "cudnnRNNForward");
  return tape;
}

TensorList rnn_backward(const RnnStack& stack, const TensorList& inputs, const Tensor& y,
                        const RnnTape& tape, const TensorList& grads) {
  Device device = inputs[0].device();
  Call call(stack, inputs[0]);
  const Network& network = call.network;
  auto [workspace_bytes, reserve_bytes] = call.temporary_bytes(true);
  Workspace workspace(device, workspace_bytes);
  // Backward writes to it, and may be run again.
  Tensor reserve = bytes_on(device, reserve_bytes);
  backend_of(device).copy_bytes(reserve.address(), device, tape.reserve.address(), device,
                                reserve_bytes);
  auto empty_of = [](const Tensor& x) { return empty(x.sizes(), x.dtype(), x.device()); };
  TensorList results = {empty_of(inputs[0])};
  for (size_t i = 1; i <= n_states(stack); ++i) results.push_back(empty_of(inputs[i]));
  bool has_cells = n_states(stack) == 2;
  const void* cells = has_cells ? inputs[2].address() : nullptr;
  size_t weight_bytes = network.weight_bytes;
  cudnn::check_status(
      functions().backward_data(
          call.handle, network.desc, nullptr, call.y.get(), y.address(), grads[0].address(),
          call.x.get(), results[0].address(), call.h.get(), inputs[1].address(), data_of(grads, 1),
          results[1].address(), call.c.get(), cells, has_cells ? data_of(grads, 2) : nullptr,
          has_cells ? results[2].address() : nullptr, weight_bytes, tape.weights.address(),
          static_cast<size_t>(workspace_bytes), workspace.data(),
          static_cast<size_t>(reserve_bytes), reserve.address()),
      "cudnnRNNBackwardData");
  DType dtype = inputs[0].dtype();
  int64_t itemsize = item_size(dtype);
  Tensor all = zeros({static_cast<int64_t>(weight_bytes) / itemsize}, dtype, device);
  cudnn::check_status(
      functions().backward_weights(call.handle, network.desc, kAddGradients, nullptr, call.x.get(),
                                   inputs[0].address(), call.h.get(), inputs[1].address(),
                                   call.y.get(), y.address(), weight_bytes, all.address(),
                                   static_cast<size_t>(workspace_bytes), workspace.data(),
                                   static_cast<size_t>(reserve_bytes), reserve.address()),
      "cudnnRNNBackwardWeights");
  for (size_t i = 0; i < network.offsets.size(); ++i) {
    const Tensor& parameter = inputs[results.size()];
    results.push_back(from_storage(all.storage(), dtype, parameter.sizes(),
                                   contiguous_strides(parameter.sizes()),
                                   network.offsets[i] / itemsize));
  }
  if (is_launch_blocking()) synchronize_stream(device.index, current_stream(device.index));
  return results;
}

}  // namespace facula::cuda
