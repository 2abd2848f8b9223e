import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeSynced } from '../../../../exporter/write/device/write-synced.ts';
import { runs } from '../../../harness/run/long.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { meddle } from '../meddle.ts';

const MIB = 1 << 20;

/** Bytes of which no two near each other are the same page. */
const someBytes = (size: number): Buffer => {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE(at, at);
  return bytes;
};

const BYTES = someBytes(3 * MIB);

/** A device that is slower than its source. */
const slowly = <T>(work: () => Promise<T>): Promise<T> =>
  meddle(
    {
      writev: async () => {
        for (let turns = 0; turns < 3; turns += 1) await turn();
      },
    },
    work,
  );

const CHUNK_SIZE = fc.oneof(
  fc.integer({ min: 1, max: 1000 }),
  fc.integer({ min: 30_000, max: 70_000 }),
  fc.constantFrom(64 << 10, (64 << 10) - 1, 1 << 20, (1 << 20) + 1),
);

async function* piecesOf(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, n = 0; at < bytes.byteLength; n += 1)
    yield bytes.subarray(at, (at += sizes[n % sizes.length] ?? 1));
}

async function* blocksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}

describe('writeSynced', () => {
  it('writes what the source returns, in chunks of any size, on a slow device', async () => {
    await using folder = await temporaryDirectory('write-synced');
    const path = join(folder.path, 'file');
    const sizes = fc.array(CHUNK_SIZE, { minLength: 1, maxLength: 12 });
    const property = fc.asyncProperty(
      sizes,
      fc.integer({ min: 0, max: BYTES.byteLength }),
      fc.integer({ min: 0, max: 20_000 }),
      async (chunks, size, from) => {
        await rm(path, { force: true });
        const bytes = BYTES.subarray(0, size);
        const begun = Math.min(from, size);
        if (begun > 0) await writeFile(path, BYTES.subarray(0, begun + 5000));
        await slowly(() => writeSynced(path, piecesOf(bytes.subarray(begun), chunks), { from: begun }));
        expect((await readFile(path)).equals(bytes)).toBe(true);
      },
    );
    await fc.assert(property, { numRuns: runs(80) });
  });

  it('resumes at the given offset', async () => {
    await using folder = await temporaryDirectory('write-synced');
    const path = join(folder.path, 'file');
    await writeFile(path, Buffer.concat([BYTES.subarray(0, 70_000), Buffer.alloc(500, 'x')]));
    const reached: number[] = [];
    await writeSynced(path, blocksOf(BYTES.subarray(70_000), 100_000), {
      from: 70_000,
      onSynced: (offset) => reached.push(offset),
    });
    expect((await readFile(path)).equals(BYTES)).toBe(true);
    expect(reached).toEqual([BYTES.byteLength]);
  });

  it('reports bytes only after they were written and sent to the device', async () => {
    await using folder = await temporaryDirectory('write-synced');
    const path = join(folder.path, 'file');
    const size = 100 * MIB;
    const reached: number[] = [];
    let given = 0;
    const zeros = Buffer.alloc(MIB);
    const content = async function* (): AsyncGenerator<Uint8Array> {
      for (; given < size; given += MIB) yield zeros;
    };
    let before = 0;
    let synced = 0;
    const datasync = async (): Promise<void> => {
      before = given;
      await turn();
      synced += 1;
    };
    await meddle({ datasync }, () =>
      writeSynced(path, content(), {
        onSynced: (offset) => {
          if (offset < size) expect(offset).toBeLessThanOrEqual(before);
          reached.push(offset);
        },
      }),
    );
    expect(reached.at(-1)).toBe(size);
    expect(reached.toSorted((a, b) => a - b)).toEqual(reached);
    expect(reached).toHaveLength(synced + 1);
    expect(synced).toBeGreaterThan(0);
  });

  it.each(['datasync', 'sync', 'writev'])("fails with the system's error of a %s", async (call) => {
    await using folder = await temporaryDirectory('write-synced');
    const path = join(folder.path, 'file');
    const full = (): void => {
      throw Object.assign(new Error(`ENOSPC: ${call}`), { code: 'ENOSPC' });
    };
    const zeros = Buffer.alloc(50 * MIB);
    let reached = 0;
    const onSynced = (offset: number): void => {
      reached = offset;
    };
    const work = meddle({ [call]: full }, () => writeSynced(path, blocksOf(zeros, MIB), { onSynced }));
    await expect(work).rejects.toThrow(`ENOSPC: ${call}`);
    expect(reached).toBeLessThan(zeros.byteLength);
  });

  it('reads no more from its source when the progress callback or the device fails', async () => {
    await using folder = await temporaryDirectory('write-synced');
    let asked = 0;
    let closed = false;
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (; asked < 1000; asked += 1) yield Buffer.alloc(MIB);
      } finally {
        closed = true;
      }
    };
    const onSynced = (): void => {
      throw new Error('the checks failed');
    };
    const work = writeSynced(join(folder.path, 'file'), endless(), { onSynced });
    await expect(work).rejects.toThrow('the checks failed');
    expect(asked).toBeLessThan(1000);
    expect(closed).toBe(true);
  });

  it('fails with the error of its source, after its last write has ended', async () => {
    await using folder = await temporaryDirectory('write-synced');
    const path = join(folder.path, 'file');
    let writing = 0;
    const stop = new AbortController();
    const content = async function* (): AsyncGenerator<Uint8Array> {
      yield BYTES.subarray(0, MIB);
      yield BYTES.subarray(MIB, 2 * MIB);
      stop.abort();
      stop.signal.throwIfAborted();
    };
    const writev = async (): Promise<void> => {
      writing += 1;
      await turn();
      writing -= 1;
    };
    await expect(meddle({ writev }, () => writeSynced(path, content()))).rejects.toThrow('aborted');
    expect(writing).toBe(0);
  });
});
