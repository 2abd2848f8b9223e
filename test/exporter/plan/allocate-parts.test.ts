import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { cutSet } from '../../../exporter/plan/set/cut-set.ts';
import { entrySize, allocateParts, plainWithin, volumeSize } from '../../../exporter/plan/allocate-parts.ts';
import type { PlannedBlob } from '../../../exporter/plan/plan.ts';
import { refusal } from '../../bundles/refusal.ts';
import { runs } from '../../harness/run/long.ts';

/** As age has it: a header, and a tag for every 64 KiB. */
const sealed = (plain: number): number => plain + 200 + 16 * Math.max(1, Math.ceil(plain / 65_536));
const plain = (bytes: number): number => bytes;

const blobOf = (size: number, at: number, shared: boolean): PlannedBlob => ({
  digest: digestOf(`${at}`),
  size,
  repository: 'prod/kiosk',
  rank: 'layer',
  shared,
});

const medium = {
  format: 1,
  fleet: 'acme',
  createdAt: '2026-11-21T08:00:00Z',
  documents: [],
  bundles: [],
  critical: [],
} as const;

const orders = fc.record({
  sizes: fc.array(fc.oneof(fc.nat(3000), fc.nat(400_000)), { maxLength: 40 }),
  shared: fc.array(fc.nat(2000), { maxLength: 4 }),
  partSize: fc.integer({ min: 1, max: 300_000 }),
  sticks: fc.array(fc.integer({ min: 1, max: 900_000 }), { minLength: 1, maxLength: 4 }),
  sealedSize: fc.constantFrom(plain, sealed),
});

const planOf = ({
  sizes,
  shared,
}: {
  readonly sizes: readonly number[];
  readonly shared: readonly number[];
}) => ({
  medium,
  index: [],
  blobs: [
    ...shared.map((size, at) => blobOf(size, 1000 + at, true)),
    ...sizes.map((size, at) => blobOf(size, at, false)),
  ],
});

describe('cutSet and allocateParts', () => {
  it('put every byte into one part, within the limits of parts and media, for any content', () => {
    fc.assert(
      fc.property(orders, (order) => {
        const { partSize, sticks, sealedSize } = order;
        const plan = planOf(order);
        const cut = (() => {
          try {
            return cutSet(plan, { partSize, sticks }, sealedSize);
          } catch (error) {
            return refusal(() => {
              throw error;
            });
          }
        })();
        // Too small for what each part begins with: said, and nothing else is thrown.
        if (typeof cut === 'string') return cut === 'USAGE';
        if (cut === undefined) return false;
        expect(cut.parts.map(({ number }) => number)).toEqual(cut.parts.map((_, at) => at + 1));
        expect(cut.parts.map(({ stick }) => stick)).toEqual(
          cut.parts.map(({ stick }) => stick).toSorted((a, b) => a - b),
        );
        for (const { size } of cut.parts) expect(size).toBeLessThanOrEqual(partSize);
        for (let stick = 1; stick <= cut.sticks; stick += 1) {
          const there = cut.parts
            .filter((part) => part.stick === stick)
            .reduce((sum, { size }) => sum + size, 0);
          expect(there).toBeLessThanOrEqual(volumeSize(sticks, stick));
        }
        for (const blob of plan.blobs.filter((one) => !one.shared)) {
          const files = cut.parts
            .flatMap((part) => part.files)
            .filter((file) => file.blob === blob)
            .toSorted((a, b) => a.offset - b.offset);
          expect(files.length).toBeGreaterThan(0);
          let at = 0;
          for (const { offset, size } of files) {
            expect(offset).toBe(at);
            at += size;
          }
          expect(at).toBe(blob.size);
        }
        const paths = cut.parts.flatMap((part) => part.files.map(({ path }) => path));
        expect(new Set(paths).size).toBe(paths.length);
        return true;
      }),
      { numRuns: runs(150) },
    );
  });

  it('cut the same parts for any order of the blobs', () => {
    fc.assert(
      fc.property(orders, fc.infiniteStream(fc.nat()), (order, random) => {
        const items = order.sizes.map((size, at) => ({ path: `blobs/sha256/${at}`, size }));
        const limits = {
          partSize: 2_000_000,
          sticks: [3_000_000],
          overhead: 5000,
          sealedSize: order.sealedSize,
        };
        const shuffled = items
          .map((item) => ({ item, key: random.next().value as number }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ item }) => item);
        expect(allocateParts(shuffled, limits)).toEqual(allocateParts(items, limits));
      }),
      { numRuns: runs(30) },
    );
  });

  it('fill every part but the last ones', () => {
    const items = Array.from({ length: 30 }, (_, at) => ({ path: `blobs/${at}`, size: 10_000 + at * 1000 }));
    const parts = allocateParts(items, {
      partSize: 100_000,
      sticks: [1e9],
      overhead: 2000,
      sealedSize: plain,
    });
    const total = items.reduce((sum, { size }) => sum + entrySize(size), 0);
    expect(parts.length).toBeLessThanOrEqual(Math.ceil(total / 98_000) + 1);
  });

  it('cut blobs into files of at most 4 GiB - 1 and use as many media as they need', () => {
    const most = 2 ** 32 - 1;
    const sizes = [20e9, 4.5e9, most, most - 2048, 3e9, 700e6, 10];
    for (const sealedSize of [plain, sealed]) {
      const { parts, sticks } = cutSet(
        planOf({ sizes, shared: [10] }),
        { partSize: most, sticks: [16e9, 8e9] },
        sealedSize,
      );
      expect(Math.max(...parts.map(({ size }) => size))).toBeLessThanOrEqual(most);
      expect(parts.flatMap(({ files }) => files).reduce((sum, { size }) => sum + size, 0)).toBe(
        sizes.reduce((sum, size) => sum + size, 0),
      );
      // 36 GB: a stick of 8 GB holds two parts of 4 GB, and only one of 4 GiB.
      expect(sticks).toBe(4);
    }
  });

  it('cut one part for no blobs', () => {
    expect(
      cutSet(planOf({ sizes: [], shared: [10] }), { partSize: 100_000, sticks: [1e9] }).parts,
    ).toHaveLength(1);
  });

  it('find the largest content that fits a sealed file', () => {
    for (const limit of [0, 199, 216, 217, 65_752, 65_753, 1_000_000]) {
      const most = plainWithin(limit, sealed);
      expect(most < 0 || sealed(most) <= limit).toBe(true);
      expect(sealed(most + 1)).toBeGreaterThan(limit);
    }
  });
});
