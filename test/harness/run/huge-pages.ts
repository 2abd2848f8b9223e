/**
 * Environment of a process that starts many programs: the heap of malloc lies in huge pages (glibc; V8 keeps its own heap out of forks). A fork
 * copies the page table of 100 to 400 MB otherwise, 4 to 10 ms of processor time each. Programs that it starts do not get it.
 */
export const HUGE_PAGES = {
  GLIBC_TUNABLES: [
    'glibc.malloc.hugetlb=1',
    `glibc.malloc.top_pad=${64 << 20}`,
    `glibc.malloc.mmap_threshold=${32 << 20}`,
    `glibc.malloc.trim_threshold=${256 << 20}`,
  ].join(':'),
} as const;
