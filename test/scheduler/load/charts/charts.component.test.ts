import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { cachedCharts } from '../../../../scheduler/load/charts/chart-cache.ts';
import {
  chartKey,
  type FetchChart,
  isChartKey,
  openCharts,
} from '../../../../scheduler/load/charts/charts.ts';
import { knownCharts } from '../../../../scheduler/load/charts/known-charts.ts';
import { temporaryDirectory } from '../../file-tree.ts';
import { toldLater } from '../../told.ts';

const signal = new AbortController().signal;
const REFERENCE = { chart: 'oci://registry.example:5000/charts/web', version: '1.2.3' };
const ARCHIVE = Buffer.from('an archive');
const LOCKS = new Map([[chartKey(REFERENCE), `${REFERENCE.chart}@${digestOf(ARCHIVE)}`]]);

const counting = (bytes: Buffer) => {
  const asked: string[] = [];
  const fetch: FetchChart = async (reference) => {
    asked.push(chartKey(reference));
    return bytes;
  };
  return { asked, fetch };
};

describe('a chart in a registry', () => {
  it('is fetched once in a run, with the digest of the lock', async () => {
    const { asked, fetch } = counting(ARCHIVE);
    const charts = openCharts(fetch);
    const [one, two] = await Promise.all([
      charts(REFERENCE, LOCKS, signal),
      charts(REFERENCE, LOCKS, signal),
    ]);
    expect(one.archive).toEqual(ARCHIVE);
    expect(two.pinned).toEqual({ name: REFERENCE.chart, version: '1.2.3', digest: digestOf(ARCHIVE) });
    expect(asked).toEqual(['oci://registry.example:5000/charts/web:1.2.3']);
  });

  it("is refused without a lock, and with another digest than the lock's", async () => {
    const { asked, fetch } = counting(Buffer.from('another'));
    expect(await toldLater(openCharts(fetch)(REFERENCE, new Map(), signal))).toMatch(
      /^CHART_UNPINNED: the chart oci:\/\/registry\.example:5000\/charts\/web:1\.2\.3 has no digest.*images lock/,
    );
    expect(asked).toEqual([]);
    expect(await toldLater(openCharts(fetch)(REFERENCE, LOCKS, signal))).toMatch(/^DIGEST_MISMATCH/);
  });

  it('is cached; a damaged copy is fetched again, and a wrong one is never cached', async () => {
    const directory = await temporaryDirectory();
    const { asked, fetch } = counting(ARCHIVE);
    const digest = digestOf(ARCHIVE);
    const cached = cachedCharts(directory, fetch);
    await cached(REFERENCE, digest, signal);
    await cached(REFERENCE, digest, signal);
    expect(asked).toHaveLength(1);
    const [file = ''] = await readdir(join(directory, 'charts'));
    await writeFile(join(directory, 'charts', file), 'damaged');
    expect(await cached(REFERENCE, digest, signal)).toEqual(ARCHIVE);
    expect(asked).toHaveLength(2);
    expect(await readFile(join(directory, 'charts', file))).toEqual(ARCHIVE);
    await cached(REFERENCE, digestOf('else'), signal);
    expect(await readdir(join(directory, 'charts'))).toEqual([file]);
  });

  it('is available offline only when it was fetched before', async () => {
    const directory = await temporaryDirectory();
    expect(await toldLater(knownCharts(directory)(REFERENCE, LOCKS, signal))).toMatch(
      /^SOURCE_UNREACHABLE: .*not fetched here/,
    );
    await cachedCharts(directory, async () => ARCHIVE)(REFERENCE, digestOf(ARCHIVE), signal);
    expect((await knownCharts(directory)(REFERENCE, LOCKS, signal)).archive).toEqual(ARCHIVE);
  });

  it("has a lock key that differs from an image's", () => {
    expect(['oci://a/b:1', 'https://a/b:1', 'http://a/b:1'].every(isChartKey)).toBe(true);
    expect(['a/b:1', 'localhost:5000/b:1', 'oci'].some(isChartKey)).toBe(false);
  });
});
