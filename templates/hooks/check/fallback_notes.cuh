// check/fallback_notes: what a block notes of results that it has not cleared (check/fallback_inside; check/fallback_none has no use of it).

// A warp's notes, of all warps' beside one another, and its buffers of terms.
struct ht_notes {
    unsigned first, pitch, terms;
};

// What one warp has noted.
struct ht_noted_counts {
    int results, blocks;
};
