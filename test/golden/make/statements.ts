import { type Digest, digestOf } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import type { BundlePredicate, ReleasePredicate, SitePredicate } from '#bundles/formats/statements/predicates';
import { encodeStatement, type Subject } from '#bundles/trust/statements/verify-statement';
import type { PublicKey } from '#bundles/trust/keys/key';
import { digestOfBundle, type Made } from './bundles.ts';
import { EXPIRES, FLEET, HOST, ISSUED, LINE, SITE } from './fleet.ts';

/** What the statements of the corpus say, not yet signed. */
export const bundleStatementOf = (made: Made, candidate: Digest, builtAt: string): Buffer => {
  const predicate: BundlePredicate = {
    fleet: FLEET,
    ...made.channel,
    kind: made.kind,
    candidate,
    sources: [
      {
        role: 'platform',
        repo: 'https://git.example/platform',
        ref: 'main',
        path: '.',
        commit: 'a'.repeat(40),
        tree: digestOf('platform'),
      },
    ],
    held: [
      {
        assignment: 'camera',
        code: 'TEMPLATE_FAILED',
        message: 'nil pointer evaluating interface {}.lens',
        at: { file: 'templates/camera.yaml', line: 12, column: 7 },
        kept: digestOf('the package of the release before'),
      },
    ],
    builder: 'fleet-scheduler 0.1.0',
    builtAt,
  };
  return encodeStatement([{ name: 'bundle', digest: digestOfBundle(made) }], PREDICATES.bundle, predicate);
};

export const releaseOf = (
  channel: Channel,
  subjects: readonly Subject[],
  change: Partial<ReleasePredicate> = {},
): Buffer => {
  const predicate: ReleasePredicate = {
    audience: { fleet: FLEET, ...channel },
    version: 1,
    rollout: { percent: 100 },
    rootVersion: 1,
    issuedAt: ISSUED,
    expires: EXPIRES,
    previous: null,
    minAgent: null,
    minSiteVersion: 0,
    auditHead: null,
    critical: [],
    ...change,
  };
  return encodeStatement(subjects, PREDICATES.release, predicate);
};

export const siteOf = (
  keys: { readonly line: PublicKey; readonly press: PublicKey },
  values: Digest,
  change: Partial<SitePredicate> = {},
): Buffer => {
  const predicate: SitePredicate = {
    audience: { fleet: FLEET, site: SITE },
    version: 1,
    agents: [
      {
        name: 'line-1',
        key: keys.line.pem,
        channel: LINE,
        previousChannel: { environment: 'qa', clusterType: 'factory-line' },
        labels: {},
        freshness: { mode: 'lease', seconds: 1_209_600 },
      },
      {
        name: 'press-2',
        key: keys.press.pem,
        channel: HOST,
        previousChannel: null,
        labels: { hall: 'north', ring: 'early' },
        freshness: { mode: 'release' },
      },
    ],
    issuedAt: ISSUED,
    expires: EXPIRES,
    critical: [],
    ...change,
  };
  return encodeStatement([{ name: 'site-values', digest: values }], PREDICATES.site, predicate);
};
