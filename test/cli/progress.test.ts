import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openProgress } from '#cli/progress';
import type { ProgressMode } from '#cli/flags';
import { createMeter } from '#cli/progress-meter';

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance', 'Date'],
  });
});

afterEach(() => {
  vi.useRealTimers();
});

const open = (mode: ProgressMode, isTTY = false) => {
  const stream = Object.assign(new PassThrough(), { isTTY });
  const progress = openProgress(mode, { stream });
  const text = (): string => String(stream.read() ?? '');
  return {
    progress,
    text,
    lines: () =>
      text()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
  };
};

describe('progress as JSON lines', () => {
  it('is at most one line per second, and a last one', () => {
    const { progress, lines } = open('json');
    progress.begin({ name: 'writing', total: 4000 });
    for (let step = 0; step < 8; step += 1) {
      vi.advanceTimersByTime(250);
      progress.advance(250);
    }
    progress.advance(2000);
    progress[Symbol.dispose]();
    expect(lines()).toEqual([
      { phase: 'writing', done: 750, total: 4000, bytesPerSecond: 750, secondsLeft: 5 },
      { phase: 'writing', done: 1750, total: 4000, bytesPerSecond: 875, secondsLeft: 3 },
      { phase: 'writing', done: 4000, total: 4000, bytesPerSecond: 2000, secondsLeft: 0 },
    ]);
  });

  it('contains the reason of a pause until the next progress', () => {
    const { progress, lines } = open('json');
    progress.begin({ name: 'looking for every blob', total: 2, unit: 'blobs' });
    progress.wait('registry.example asks to wait, 20 s', 20_000);
    vi.advanceTimersByTime(1000);
    progress.advance(1);
    vi.advanceTimersByTime(1000);
    progress.end();
    expect(lines().map(({ waiting, unit }) => [waiting, unit])).toEqual([
      ['registry.example asks to wait, 20 s', 'blobs'],
      [undefined, 'blobs'],
      [undefined, 'blobs'],
    ]);
  });

  it('contains the reason of a pause no longer than the pause lasts', () => {
    const { progress, lines } = open('json');
    progress.begin({ name: 'reading the source', total: 0 });
    progress.wait('registry.example asks to wait, 1 s', 1500);
    vi.advanceTimersByTime(2000);
    progress.end();
    expect(lines().map((line) => 'waiting' in line)).toEqual([true, false, false]);
  });

  it('with "auto" is written after five seconds, and not to a terminal', () => {
    const short = open('auto');
    short.progress.begin({ name: 'writing', total: 10 });
    vi.advanceTimersByTime(4999);
    short.progress.advance(10);
    short.progress[Symbol.dispose]();
    expect(short.text()).toBe('');

    const long = open('auto');
    long.progress.begin({ name: 'writing', total: 10 });
    vi.advanceTimersByTime(5000);
    long.progress.begin({ name: 'reading back', total: 10 });
    long.progress[Symbol.dispose]();
    expect(long.lines().map(({ phase }) => phase)).toEqual(['writing', 'writing']);
  });

  it('is not written with "none"', () => {
    const { progress, text } = open('none');
    progress.begin({ name: 'writing', total: 10 });
    vi.advanceTimersByTime(10_000);
    progress[Symbol.dispose]();
    expect(text()).toBe('');
  });
});

describe('progress as a bar', () => {
  it('shows share, amount, rate and remaining time', async () => {
    const { progress, text } = open('auto', true);
    progress.begin({ name: 'writing', total: 4 << 20, passes: 2 });
    vi.advanceTimersByTime(1000);
    progress.advance(2 << 20);
    vi.advanceTimersByTime(1000);
    await import('cli-progress');
    await Promise.resolve();
    expect(text()).toMatch(/writing \[=+ +\] 25% {2}1\.00 MiB of 4\.00 MiB {2}512\.0 KiB\/s {2}0:06 left/);
    progress.wait('registry.example asks to wait, 20 s', 20_000);
    vi.advanceTimersByTime(1000);
    await Promise.resolve();
    expect(text()).toContain('registry.example asks to wait, 20 s');
    progress[Symbol.dispose]();
  });

  it('is not drawn for work that ends within 250 ms', async () => {
    const { progress, text } = open('auto', true);
    progress.begin({ name: 'writing', total: 10 });
    vi.advanceTimersByTime(249);
    progress[Symbol.dispose]();
    await import('cli-progress');
    expect(text()).toBe('');
  });
});

describe('a progress meter', () => {
  const run = (steps: readonly (readonly [number, number])[], passes = 1) => {
    let time = 0;
    const meter = createMeter({ name: 'writing', total: 1000, passes }, () => time);
    for (const [at, amount] of steps) {
      time = at;
      meter.advance(amount);
    }
    return meter.state();
  };

  it('has no rate and remaining time before its first second', () => {
    expect(run([[10, 500]])).toMatchObject({ done: 500, perSecond: undefined, secondsLeft: undefined });
  });

  it('computes the rate from recent samples only', () => {
    const slow = Array.from({ length: 100 }, (_, index) => [(index + 1) * 1000, 1] as const);
    const fast = Array.from({ length: 20 }, (_, index) => [100_000 + (index + 1) * 1000, 10] as const);
    expect(run([...slow, ...fast])).toMatchObject({ done: 300, perSecond: 10, secondsLeft: 70 });
  });

  it('counts content that passes twice once', () => {
    expect(run([[1000, 1000]], 2)).toMatchObject({ done: 500, perSecond: 500, secondsLeft: 1 });
  });

  it('never exceeds the total', () => {
    expect(run([[1000, 5000]])).toMatchObject({ done: 1000, secondsLeft: 0 });
  });
});
