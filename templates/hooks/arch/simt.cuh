// arch/simt: for instruction sets without an MMA that suits: the multiply-adds of FP32 do all the work (FAST is 0), and this
// is never called.
HT_DEVICE void ht_mma(float *, const unsigned *, const unsigned *)
{
}
