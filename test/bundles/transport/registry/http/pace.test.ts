import { describe, expect, it } from 'vitest';
import { LEAST_CHUNK, newPace } from '#bundles/transport/registry/http/pace';

const MiB = 1 << 20;

describe('what is sent to a registry at once', () => {
  it('is little until something is known of the line', () => {
    expect(newPace().chunk()).toBe(LEAST_CHUNK);
  });

  it.each([
    [1 * MiB, 16 * MiB],
    [10 * MiB, 20 * MiB],
    [20 * MiB, 40 * MiB],
    [1000 * MiB, 64 * MiB],
  ])('is what %d bytes a second bring in two seconds, within bounds', (perSecond, chunk) => {
    const pace = newPace();
    pace.sent(perSecond, 1000);
    expect(pace.chunk()).toBe(chunk);
  });

  it('follows the line, down as well as up', () => {
    const pace = newPace();
    pace.sent(64 * MiB, 1000);
    pace.sent(16 * MiB, 10_000);
    expect(pace.chunk()).toBe(LEAST_CHUNK);
  });

  it('is not changed by a sample that is too small, nor by a clock that does not advance', () => {
    const pace = newPace();
    pace.sent(MiB - 1, 0);
    expect(pace.chunk()).toBe(LEAST_CHUNK);
    pace.sent(MiB, 0);
    expect(pace.chunk()).toBe(64 * MiB);
  });

  it('begins anew behind a failure, and never again as big as what failed', () => {
    const pace = newPace();
    pace.sent(1000 * MiB, 1000);
    pace.failed(64 * MiB);
    expect(pace.chunk()).toBe(LEAST_CHUNK);
    pace.sent(1000 * MiB, 1000);
    expect(pace.chunk()).toBe(32 * MiB);
    pace.failed(32 * MiB);
    pace.sent(1000 * MiB, 1000);
    expect(pace.chunk()).toBe(LEAST_CHUNK);
  });

  it('gets smaller with each failure on a line that breaks within it, and stays so while the line is slow', () => {
    const pace = newPace();
    const chunks = Array.from({ length: 6 }, () => {
      pace.failed(pace.chunk());
      return pace.chunk() / MiB;
    });
    expect(chunks).toEqual([8, 4, 2, 1, 1, 1]);
    pace.sent(MiB, 130_000);
    expect(pace.chunk()).toBe(MiB);
  });

  it('is not made smaller for good by the loss of little: that was not its size', () => {
    const pace = newPace();
    pace.failed(LEAST_CHUNK);
    pace.sent(1000 * MiB, 1000);
    expect(pace.chunk()).toBe(64 * MiB);
  });
});
