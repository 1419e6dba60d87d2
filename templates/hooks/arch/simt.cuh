// arch/simt: for instruction sets without an MMA that suits: FFMA does all the work (FAST is 0), and this
// is never called.
HT_DEVICE void ht_mma(float *, const unsigned *, const unsigned *)
{
}
