import { compareBytes, isDigest } from '#bundles/digest';
import { pageOf } from '../../../exporter/serve/page-of.ts';
import { parseRange } from '../../../exporter/serve/parse-range.ts';
import { routeOf } from '../../../exporter/serve/route.ts';
import { mutateText } from '../mutate-text.ts';
import { insist, type Target } from '../target.ts';

const DIGEST = `sha256:${'ab'.repeat(32)}`;
const SIZES = [0, 1, 50_000, 2 ** 40];
const TAGS = ['b-1', 'i-2', 'release', 'release-3', 'site-plant-7'].toSorted(compareBytes);

const texts = (...lines: readonly string[]): readonly Buffer[] => lines.map((line) => Buffer.from(line));

/** What may be asked of a medium that is served as a registry. */
export const SERVED: readonly Target[] = [
  {
    name: 'range',
    corpus: texts('bytes=0-499', 'bytes=500-', 'bytes=-500', 'bytes=0-0,-1'),
    mutate: mutateText,
    run: (input) => {
      for (const size of SIZES) {
        const range = parseRange(input.toString('latin1'), size);
        if (range === undefined || range === 'unsatisfiable') continue;
        const { start, end } = range;
        insist(Number.isSafeInteger(start) && Number.isSafeInteger(end), `${start}-${end}`);
        insist(start >= 0 && start <= end && end < size, `${start}-${end} of ${size} bytes`);
      }
    },
  },
  {
    name: 'served-path',
    corpus: texts(
      '/v2/',
      '/v2/_catalog?n=2&last=a',
      '/v2/prod/kiosk/tags/list?n=3',
      `/v2/prod/kiosk/manifests/${DIGEST}?ns=registry.example:5000`,
      `/v2/prod/kiosk/blobs/${DIGEST}`,
      `/v2/prod/kiosk/referrers/${DIGEST}?artifactType=a`,
    ),
    mutate: mutateText,
    run: (input) => {
      const url = URL.parse(`http://registry${input.toString('latin1')}`);
      if (!url) return;
      const route = routeOf(url);
      if (route.kind === 'blob' || route.kind === 'referrers')
        insist(isDigest(route.digest), `the digest ${route.digest}`);
      const { items, next } = pageOf(TAGS, url.searchParams);
      insist(
        items.every((item) => TAGS.includes(item)),
        'a page of something else',
      );
      insist(!/[\r\n<>]/.test(`${url.pathname}${next ?? ''}`), 'a header with a line of a stranger');
    },
  },
];
