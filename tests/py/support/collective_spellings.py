"""Every kind of collective, with its replica groups in each of their spellings."""

from __future__ import annotations

# The mesh is x=2, y=4: along the second half of y, that is devices 0 1, 2 3, and so on.
_PART = '#stablehlo.axis_ref<name = "y", sub_axis_info = (2)2>'
_INLINE = (
    '#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>'
)


def _axes(mesh: str, *axes: str) -> str:
    return f"#stablehlo.replica_group_mesh_axes<mesh = {mesh}, axes = [{', '.join(axes)}]>"


def _axis(name: str) -> str:
    return f'#stablehlo.axis_ref<name = "{name}">'


# Of groups of two, by name: the same devices in the same order, spelled as lists and as axes.
SPELLINGS = {
    "x": ("dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>", _axes("@mesh", _axis("x"))),
    "inline mesh": ("dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>", _axes(_INLINE, _axis("x"))),
    "part of y": ("dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>", _axes("@mesh", _PART)),
    "device ids": ("dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>", _axes("@reversed", _axis("x"))),
}

_REGION = """({
        ^bb0(%l: tensor<f32>, %r: tensor<f32>):
          %s = stablehlo.add %l, %r : tensor<f32>
          stablehlo.return %s : tensor<f32>
      })"""
# Attributes, region, length of the result of four elements.
KINDS = {
    "all_gather": ("all_gather_dim = 0 : i64, use_global_device_ids", "", 8),
    "all_reduce": ("use_global_device_ids", _REGION, 4),
    "all_to_all": ("concat_dimension = 0 : i64, split_count = 2 : i64, split_dimension = 0 : i64", "", 4),
    "collective_broadcast": ("", "", 4),
    "reduce_scatter": ("scatter_dimension = 0 : i64, use_global_device_ids", _REGION, 2),
}


def module(kind: str, groups: str) -> str:
    """A module for eight devices with the collective twice: by itself, and in a loop that ends by a sum of its own."""
    attributes, region, length = KINDS[kind]
    handle = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
    held = ", ".join(filter(None, (handle, f"replica_groups = {groups}", attributes)))
    op = f'"stablehlo.{kind}"(%IN) <{{{held}}}> {region} : (tensor<4xf32>) -> tensor<{length}xf32>'
    whole = "dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>"
    return f"""module attributes {{mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32}} {{
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  sdy.mesh @reversed = <["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
  func.func public @main(%arg0: tensor<32xf32>) -> tensor<{8 * length}xf32> {{
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{"x", "y"}}]>] out_shardings=[<@mesh, [{{"x", "y"}}]>]
        manual_axes={{"x", "y"}} (%x: tensor<4xf32>) {{
      %a = {op.replace("%IN", "%x")}
      %z = stablehlo.constant dense<0> : tensor<i32>
      %w:3 = stablehlo.while(%i = %z, %v = %x, %u = %a) : tensor<i32>, tensor<4xf32>, tensor<{length}xf32>
      cond {{
        %n = stablehlo.constant dense<2> : tensor<i32>
        %t = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      }} do {{
        %o = stablehlo.constant dense<1> : tensor<i32>
        %d = stablehlo.add %i, %o : tensor<i32>
        %p = "stablehlo.collective_permute"(%v) <{{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5],
          [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>, {handle}}}> : (tensor<4xf32>) -> tensor<4xf32>
        %q = {op.replace("%IN", "%p")}
        stablehlo.return %d, %p, %q : tensor<i32>, tensor<4xf32>, tensor<{length}xf32>
      }}
      %all = "stablehlo.all_reduce"(%w#2) <{{{handle}, replica_groups = {whole}, use_global_device_ids}}> {_REGION}
        : (tensor<{length}xf32>) -> tensor<{length}xf32>
      %e = stablehlo.add %all, %w#2 : tensor<{length}xf32>
      sdy.return %e : tensor<{length}xf32>
    }} : (tensor<32xf32>) -> tensor<{8 * length}xf32>
    return %0 : tensor<{8 * length}xf32>
  }}
}}
"""
