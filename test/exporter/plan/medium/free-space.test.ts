import { describe, expect, it } from 'vitest';
import { clusterBytesOf, FAT_MAX_FILE, largestFile } from '../../../../exporter/plan/medium/free-space.ts';

const KIB = 1024;
const blobs = (count: number, size: number) =>
  Array.from({ length: count }, (_, at) => ({ path: `blobs/sha256/${String(at).padStart(64, '0')}`, size }));

describe('clusterBytesOf', () => {
  it('counts whole clusters of the files and their folders', () => {
    const files = [
      ...blobs(15, 1000),
      { path: 'oci-layout', size: 30 },
      { path: 'fleet/medium.json', size: 9000 },
    ];
    // 17 files, and the folders blobs, blobs/sha256 and fleet; then two clusters and a sixteenth in reserve.
    expect(clusterBytesOf(files, 128 * KIB)).toBe(20 * 128 * KIB + 2 * 128 * KIB + 160 * KIB);
  });

  it('counts the clusters of a 4 MiB FAT image that mkfs.fat and mtools fill with 28 files', () => {
    const cluster = 128 * KIB;
    const files = [...blobs(27, 1000), { path: 'fleet/medium.json', size: 1000 }];
    expect(clusterBytesOf(files, cluster) - 2 * cluster - (31 * cluster) / 16).toBe(31 * cluster);
  });

  it('is close to the size of large files, and 0 for no files', () => {
    expect(clusterBytesOf([{ path: 'file', size: 2 ** 32 }], 32 * KIB)).toBe(2 ** 32 + 64 * KIB + (1 << 20));
    expect(clusterBytesOf([], 32 * KIB)).toBe(0);
  });

  it('counts the clusters of the names in a large folder', () => {
    const many = clusterBytesOf(blobs(10_000, 1), 4 * KIB);
    // 10,000 names of 6 entries of 32 bytes.
    expect(many - 10_000 * 4 * KIB).toBeGreaterThanOrEqual(10_000 * 6 * 32);
  });
});

describe('largestFile', () => {
  it.each(['win32', 'darwin'] as const)(
    'is that of FAT32 on %s, which does not name the file system',
    async (platform) => {
      expect(await largestFile(import.meta.dirname, platform)).toBe(FAT_MAX_FILE);
    },
  );
});
