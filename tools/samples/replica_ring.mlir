// The ring of pmap_ring in replica mode: one partition, eight replicas, permutes without a channel, so that their pairs
// name replicas. Written by hand: jax.pmap lowered to this form before it became shard_map.
module @pmap_ring_all_reduce attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func public @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
    %first = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %hops = stablehlo.constant dense<7> : tensor<i32>
    %forward = stablehlo.slice %x [0:512] : (tensor<1024xf32>) -> tensor<512xf32>
    %backward = stablehlo.slice %x [512:1024] : (tensor<1024xf32>) -> tensor<512xf32>
    %loop:4 = stablehlo.while(%hop = %first, %f = %forward, %b = %backward, %sum = %x) : tensor<i32>, tensor<512xf32>, tensor<512xf32>, tensor<1024xf32>
    cond {
      %more = stablehlo.compare LT, %hop, %hops, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next_f = "stablehlo.collective_permute"(%f) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>}> : (tensor<512xf32>) -> tensor<512xf32>
      %next_b = "stablehlo.collective_permute"(%b) <{source_target_pairs = dense<[[0, 7], [1, 0], [2, 1], [3, 2], [4, 3], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>}> : (tensor<512xf32>) -> tensor<512xf32>
      %passing = stablehlo.concatenate %next_f, %next_b, dim = 0 : (tensor<512xf32>, tensor<512xf32>) -> tensor<1024xf32>
      %next_sum = stablehlo.add %sum, %passing : tensor<1024xf32>
      %next_hop = stablehlo.add %hop, %one : tensor<i32>
      stablehlo.return %next_hop, %next_f, %next_b, %next_sum : tensor<i32>, tensor<512xf32>, tensor<512xf32>, tensor<1024xf32>
    }
    return %loop#3 : tensor<1024xf32>
  }
}
