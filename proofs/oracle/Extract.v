(** The prices of one and of several private columns, also after what was told, as an OCaml program. Whole numbers become machine integers: right
    for small cases only, so this is an oracle for tests and never the product. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt.
From Hartley Require Import Regions Question Batch Columns Paths Refined Several.

Extraction "price.ml" batch_price batch_price_absent domain elementary
  columns_price columns_price_absent all_rows given_price held_cells coarse_price
  multichoose.
