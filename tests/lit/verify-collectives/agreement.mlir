// RUN: hlo-opt %s --verify-collectives --split-input-file --verify-diagnostics

// A loop ends by what each device holds: they do not agree.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%x: tensor<4xf32>) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      // expected-warning@+1 {{VCL012: A loop whose number of rounds can differ between devices 0 and 1, which meet in the collective_permute of line}}
      %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %f = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%v init: %f) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
        %n = stablehlo.constant dense<50.0> : tensor<f32>
        %t = stablehlo.compare LT, %s, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %w = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %c, %w : tensor<i32>, tensor<4xf32>
      }
      sdy.return %r#1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// All devices agree by a maximum over both axes, spelled in either way.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%x: tensor<4xf32>) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %f = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%v init: %f) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
        %a = "stablehlo.all_reduce"(%s) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">]>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
        ^bb0(%left: tensor<f32>, %right: tensor<f32>):
          %one = stablehlo.maximum %left, %right : tensor<f32>
          stablehlo.return %one : tensor<f32>
        }) : (tensor<f32>) -> tensor<f32>
        %n = stablehlo.constant dense<50.0> : tensor<f32>
        %t = stablehlo.compare LT, %a, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %w = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %c, %w : tensor<i32>, tensor<4xf32>
      }
      sdy.return %r#1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%x: tensor<4xf32>) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %f = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%v init: %f) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
        %a = "stablehlo.all_reduce"(%s) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
        ^bb0(%left: tensor<f32>, %right: tensor<f32>):
          %one = stablehlo.maximum %left, %right : tensor<f32>
          stablehlo.return %one : tensor<f32>
        }) : (tensor<f32>) -> tensor<f32>
        %n = stablehlo.constant dense<50.0> : tensor<f32>
        %t = stablehlo.compare LT, %a, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %w = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %c, %w : tensor<i32>, tensor<4xf32>
      }
      sdy.return %r#1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// The maximum over one axis leaves the other one to differ, and the permute is between all devices.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%x: tensor<4xf32>) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      // expected-warning@+1 {{VCL012: A loop whose number of rounds can differ between devices 0 and 2, which meet in the collective_permute of line}}
      %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %f = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%v init: %f) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
        %a = "stablehlo.all_reduce"(%s) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
        ^bb0(%left: tensor<f32>, %right: tensor<f32>):
          %one = stablehlo.maximum %left, %right : tensor<f32>
          stablehlo.return %one : tensor<f32>
        }) : (tensor<f32>) -> tensor<f32>
        %n = stablehlo.constant dense<50.0> : tensor<f32>
        %t = stablehlo.compare LT, %a, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %w = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %c, %w : tensor<i32>, tensor<4xf32>
      }
      sdy.return %r#1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// What only devices that agree send among themselves can wait for nobody else.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%x: tensor<4xf32>) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %f = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%v init: %f) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
        %a = "stablehlo.all_reduce"(%s) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
        ^bb0(%left: tensor<f32>, %right: tensor<f32>):
          %one = stablehlo.maximum %left, %right : tensor<f32>
          stablehlo.return %one : tensor<f32>
        }) : (tensor<f32>) -> tensor<f32>
        %n = stablehlo.constant dense<50.0> : tensor<f32>
        %t = stablehlo.compare LT, %a, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %w = "stablehlo.all_reduce"(%v) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
        ^bb0(%left: tensor<f32>, %right: tensor<f32>):
          %one = stablehlo.add %left, %right : tensor<f32>
          stablehlo.return %one : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %c, %w : tensor<i32>, tensor<4xf32>
      }
      sdy.return %r#1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// The argument is divided along x alone, so the devices along y agree.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x", "y"} (%x: tensor<4xf32>) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %f = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%v init: %f) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
        %n = stablehlo.constant dense<50.0> : tensor<f32>
        %t = stablehlo.compare LT, %s, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %w = "stablehlo.all_reduce"(%v) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
        ^bb0(%left: tensor<f32>, %right: tensor<f32>):
          %one = stablehlo.add %left, %right : tensor<f32>
          stablehlo.return %one : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %c, %w : tensor<i32>, tensor<4xf32>
      }
      sdy.return %r#1 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A fixed number of rounds, in which devices do different things.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%x: tensor<4xf32>) {
      %px_ = stablehlo.partition_id : tensor<ui32>
      %dx_ = stablehlo.constant dense<2> : tensor<ui32>
      %mx_ = stablehlo.constant dense<2> : tensor<ui32>
      %qx_ = stablehlo.divide %px_, %dx_ : tensor<ui32>
      %rx_ = stablehlo.remainder %qx_, %mx_ : tensor<ui32>
      %x_ = stablehlo.convert %rx_ : (tensor<ui32>) -> tensor<i32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %n = stablehlo.constant dense<5> : tensor<i32>
        %t = stablehlo.compare LT, %c, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %o = stablehlo.constant dense<1> : tensor<i32>
        %d = stablehlo.add %c, %o : tensor<i32>
        %i = stablehlo.convert %x_ : (tensor<i32>) -> tensor<f32>
        %b = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<f32>) -> tensor<4xf32>
        %u = stablehlo.multiply %v, %b : tensor<4xf32>
        %w = "stablehlo.collective_permute"(%u) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %d, %w : tensor<i32>, tensor<4xf32>
      }
      sdy.return %r#1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// A number of rounds by the place on an axis: the devices along the other one agree,

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%x: tensor<4xf32>) {
      %px_ = stablehlo.partition_id : tensor<ui32>
      %dx_ = stablehlo.constant dense<2> : tensor<ui32>
      %mx_ = stablehlo.constant dense<2> : tensor<ui32>
      %qx_ = stablehlo.divide %px_, %dx_ : tensor<ui32>
      %rx_ = stablehlo.remainder %qx_, %mx_ : tensor<ui32>
      %x_ = stablehlo.convert %rx_ : (tensor<ui32>) -> tensor<i32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %n = stablehlo.add %x_, %x_ : tensor<i32>
        %t = stablehlo.compare LT, %c, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %o = stablehlo.constant dense<1> : tensor<i32>
        %d = stablehlo.add %c, %o : tensor<i32>
        %w = "stablehlo.all_reduce"(%v) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
        ^bb0(%left: tensor<f32>, %right: tensor<f32>):
          %one = stablehlo.add %left, %right : tensor<f32>
          stablehlo.return %one : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %d, %w : tensor<i32>, tensor<4xf32>
      }
      sdy.return %r#1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// and those along this one do not.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%x: tensor<4xf32>) {
      %px_ = stablehlo.partition_id : tensor<ui32>
      %dx_ = stablehlo.constant dense<2> : tensor<ui32>
      %mx_ = stablehlo.constant dense<2> : tensor<ui32>
      %qx_ = stablehlo.divide %px_, %dx_ : tensor<ui32>
      %rx_ = stablehlo.remainder %qx_, %mx_ : tensor<ui32>
      %x_ = stablehlo.convert %rx_ : (tensor<ui32>) -> tensor<i32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      // expected-warning@+1 {{VCL012: A loop whose number of rounds can differ between devices 0 and 2, which meet in the all_reduce of line}}
      %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %n = stablehlo.add %x_, %x_ : tensor<i32>
        %t = stablehlo.compare LT, %c, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %o = stablehlo.constant dense<1> : tensor<i32>
        %d = stablehlo.add %c, %o : tensor<i32>
        %w = "stablehlo.all_reduce"(%v) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
        ^bb0(%left: tensor<f32>, %right: tensor<f32>):
          %one = stablehlo.add %left, %right : tensor<f32>
          stablehlo.return %one : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %d, %w : tensor<i32>, tensor<4xf32>
      }
      sdy.return %r#1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// A function is followed from each place that calls it: here it is given a constant, there what differs.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func private @twice(%a: tensor<i32>) -> tensor<i32> {
    %b = stablehlo.add %a, %a : tensor<i32>
    return %b : tensor<i32>
  }
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%x: tensor<4xf32>) {
      %px_ = stablehlo.partition_id : tensor<ui32>
      %dx_ = stablehlo.constant dense<2> : tensor<ui32>
      %mx_ = stablehlo.constant dense<2> : tensor<ui32>
      %qx_ = stablehlo.divide %px_, %dx_ : tensor<ui32>
      %rx_ = stablehlo.remainder %qx_, %mx_ : tensor<ui32>
      %x_ = stablehlo.convert %rx_ : (tensor<ui32>) -> tensor<i32>
      %e = func.call @twice(%x_) : (tensor<i32>) -> tensor<i32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %k = stablehlo.constant dense<5> : tensor<i32>
        %n = func.call @twice(%k) : (tensor<i32>) -> tensor<i32>
        %t = stablehlo.compare LT, %c, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %o = stablehlo.constant dense<1> : tensor<i32>
        %d = stablehlo.add %c, %o : tensor<i32>
        %w = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %d, %w : tensor<i32>, tensor<4xf32>
      }
      sdy.return %r#1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// What a device's own host says differs.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%x: tensor<4xf32>) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      // expected-warning@+1 {{VCL012: A loop whose number of rounds can differ between devices 0 and 1, which meet in the collective_permute of line}}
      %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %n = stablehlo.custom_call @xla_ffi_python_cpu_callback() {has_side_effect = true} : () -> tensor<i32>
        %t = stablehlo.compare LT, %c, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %o = stablehlo.constant dense<1> : tensor<i32>
        %d = stablehlo.add %c, %o : tensor<i32>
        %w = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %d, %w : tensor<i32>, tensor<4xf32>
      }
      sdy.return %r#1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// Replicas (pmap): each has an argument of its own, unless it is said to be the same.

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func public @main(%x: tensor<4xf32>, %n: tensor<i1>, %same: tensor<i1> {mhlo.is_same_data_across_replicas = true}) -> tensor<4xf32> {
    // expected-warning@+1 {{VCL012: Devices 0 and 1 can take different branches, and branches 0 and 1 do not}}
    %0 = "stablehlo.if"(%n) ({
      %a = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %1 = "stablehlo.if"(%same) ({
      %a = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %0 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

// A permute that names but two devices is one that all of XLA's devices meet in.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %p = stablehlo.partition_id : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %t = stablehlo.compare LT, %p, %two : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    // expected-warning@+1 {{VCL012: Devices 0 and 2 can take different branches}}
    %0 = "stablehlo.if"(%t) ({
      %a = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// GSPMD's way into a manual computation: what is divided differs, what is replicated does not.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>, %n: tensor<4xi1>, %same: tensor<i1>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @Sharding(%n) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<4xi1>) -> tensor<4xi1>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<4xi1>) -> tensor<1xi1>
    %2 = stablehlo.reshape %1 : (tensor<1xi1>) -> tensor<i1>
    %3 = stablehlo.custom_call @Sharding(%same) {mhlo.sharding = "{replicated}"} : (tensor<i1>) -> tensor<i1>
    %4 = stablehlo.custom_call @SPMDFullToShardShape(%3) {mhlo.sharding = "{manual}"} : (tensor<i1>) -> tensor<i1>
    // expected-warning@+1 {{VCL012: Devices 0 and 1 can take different branches}}
    %5 = "stablehlo.if"(%2) ({
      %a = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %6 = "stablehlo.if"(%4) ({
      %a = "stablehlo.collective_permute"(%5) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %6 : tensor<4xf32>
  }
}

// -----

// Where devices go round a loop a different number of times, they do not agree on what it counts.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %p = stablehlo.partition_id : tensor<ui32>
    %z = stablehlo.constant dense<0> : tensor<ui32>
    %c = stablehlo.while(%i = %z) : tensor<ui32>
    cond {
      %t = stablehlo.compare LT, %i, %p : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %o = stablehlo.constant dense<1> : tensor<ui32>
      %d = stablehlo.add %i, %o : tensor<ui32>
      stablehlo.return %d : tensor<ui32>
    }
    %e = stablehlo.compare EQ, %c, %z : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    // expected-warning@+1 {{VCL012: Devices 0 and 1 can take different branches}}
    %r = "stablehlo.if"(%e) ({
      %a = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Each member of an exchange gets a part of its own.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %p = stablehlo.partition_id : tensor<ui32>
    %z = stablehlo.constant dense<0> : tensor<ui32>
    %v = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xui32>
    %w = "stablehlo.all_to_all"(%v) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64,
      replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 0 : i64}>
      : (tensor<4xui32>) -> tensor<4xui32>
    %s = stablehlo.slice %w [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %q = stablehlo.reshape %s : (tensor<1xui32>) -> tensor<ui32>
    %e = stablehlo.compare EQ, %q, %z : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    // expected-warning@+1 {{VCL012: Devices 0 and 1 can take different branches}}
    %r = "stablehlo.if"(%e) ({
      %a = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
