(* The easy redistribution: gather everything, then slice.                      *)
(*                                                                              *)
(* Paper: Sec. 4.2, equations (2) and (3).  Erratum E10 (one allgather per      *)
(* axis).                                                                       *)
From mathcomp Require Import all_ssreflect zify.
Require Import notation fig06_syntax fig07_base_offsets fig08_typing fig11_cost def4_sequences.
Require Import vectors sequences points base_offset_maps types lowering s5 sec4_normal_form.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Easy.
Variable H : mesh.
Hypothesis wH : wf_mesh H.

(* [s_0{}s_0, .., s_n{}s_n]: every device holds everything.                     *)
Definition replicated (g : seq nat) : type := [seq Dim n [::] n | n <- g].

Lemma wf_replicated tau : wf_type H tau -> wf_type H (replicated (globaltype tau)).
Proof.
move=> wt; rewrite /wf_type; apply/andP; split; last first.
  by rewrite /axes; elim: (globaltype tau) => //= n g IH.
apply/allP => _ /mapP[_ /mapP[d dt ->] ->]; have [c0 sub _ <-] := wf_dim_axes (wf_type_dim wt dt).
by rewrite /wf_dim /= muln1 eqxx muln_gt0 c0 size_of_axes_pos.
Qed.

Lemma globaltype_replicated g : globaltype (replicated g) = g.
Proof. by rewrite /globaltype -map_comp map_id. Qed.

Lemma from_replicated tau : wf_type H tau ->
  exists w, sequence (typed H) (replicated (globaltype tau)) w tau /\ all is_slice (labels op_of w).
Proof.
move=> wt; apply: (S5_slices wH (wf_replicated wt) wt (globaltype_replicated _)) => i lt.
exists (dim_xs (nth no_dim tau i)); rewrite (nth_map 0) ?cats0 //.
by rewrite /rank size_map in lt.
Qed.

Theorem equation_2 tau1 tau2 : wf_type H tau1 -> wf_type H tau2 ->
  globaltype tau1 = globaltype tau2 ->
  exists w1 w2, let m := replicated (globaltype tau1) in
    [/\ sequence (typed H) tau1 w1 m, all is_gather (labels op_of w1),
        sequence (typed H) m w2 tau2 & all is_slice (labels op_of w2)].
Proof.
move=> w1 w2 eg; have [v [sv lv]] := from_replicated w1; have [w [sw lw]] := from_replicated w2.
have [v' [sv' lv' _]] := sequence_rev localsize (@typed_back H) (fun t q => back_opE t q) sv.
exists v', w; rewrite -eg in sw; split=> //.
by rewrite lv' all_rev all_map; apply: sub_all lv => -[].
Qed.

End Easy.
