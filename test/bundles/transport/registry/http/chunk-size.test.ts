import { describe, expect, it } from 'vitest';
import { MIN_CHUNK_BYTES, createChunkSize } from '#bundles/transport/registry/http/chunk-size';

const MiB = 1 << 20;

describe('the chunk size of an upload', () => {
  it('is the minimum before any measurement', () => {
    expect(createChunkSize().chunk()).toBe(MIN_CHUNK_BYTES);
  });

  it.each([
    [1 * MiB, 16 * MiB],
    [10 * MiB, 20 * MiB],
    [20 * MiB, 40 * MiB],
    [1000 * MiB, 64 * MiB],
  ])('for %d bytes per second is the amount of two seconds, within bounds', (perSecond, chunk) => {
    const pace = createChunkSize();
    pace.sent(perSecond, 1000);
    expect(pace.chunk()).toBe(chunk);
  });

  it('follows the measured rate, down as well as up', () => {
    const pace = createChunkSize();
    pace.sent(64 * MiB, 1000);
    pace.sent(16 * MiB, 10_000);
    expect(pace.chunk()).toBe(MIN_CHUNK_BYTES);
  });

  it('ignores a sample below 1 MiB, and is the maximum for a sample that took no time', () => {
    const pace = createChunkSize();
    pace.sent(MiB - 1, 0);
    expect(pace.chunk()).toBe(MIN_CHUNK_BYTES);
    pace.sent(MiB, 0);
    expect(pace.chunk()).toBe(64 * MiB);
  });

  it('is the minimum after a failure, and later stays below the size that failed', () => {
    const pace = createChunkSize();
    pace.sent(1000 * MiB, 1000);
    pace.failed(64 * MiB);
    expect(pace.chunk()).toBe(MIN_CHUNK_BYTES);
    pace.sent(1000 * MiB, 1000);
    expect(pace.chunk()).toBe(32 * MiB);
    pace.failed(32 * MiB);
    pace.sent(1000 * MiB, 1000);
    expect(pace.chunk()).toBe(MIN_CHUNK_BYTES);
  });

  it('is halved with each failure down to 1 MiB, and stays there on a slow connection', () => {
    const pace = createChunkSize();
    const chunks = Array.from({ length: 6 }, () => {
      pace.failed(pace.chunk());
      return pace.chunk() / MiB;
    });
    expect(chunks).toEqual([8, 4, 2, 1, 1, 1]);
    pace.sent(MiB, 130_000);
    expect(pace.chunk()).toBe(MiB);
  });

  it('is not limited by the failure of a chunk of minimum size', () => {
    const pace = createChunkSize();
    pace.failed(MIN_CHUNK_BYTES);
    pace.sent(1000 * MiB, 1000);
    expect(pace.chunk()).toBe(64 * MiB);
  });
});
