import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acceptChannel } from '#bundles/trust/accept/accept-channel';
import { readChannelDocuments } from '#bundles/trust/accept/documents';
import { canonicalBytes } from '#bundles/json/canonical';
import { digestOf } from '#bundles/digest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import {
  agent,
  approver,
  BUNDLE_A,
  BUNDLE_B,
  bundlePayload,
  CHANNEL,
  enrolled,
  importMedium,
  release,
  releasePayload,
  revocationList,
  scheduler,
  sign,
  sitePayload,
} from '../../bundles/trust/accept/signed-world.ts';
import { file, POLICY, PRESS } from '../../bundles/golden-corpus.ts';
import { mutateTar } from '../mutate-archive.ts';
import { mutateJson } from '../mutate-json.ts';
import { insist, type Target } from '../target.ts';

const WHEN = { now: new Date('2026-11-22T08:00:00Z'), trusted: true };
const GOLDEN_RELEASE = digestOf(
  parseEnvelope(file('statements/release-host-1.sigstore.json'), 'golden').payload,
);

/** In every run another key, which is no part of an input. */
const KEY_PLACE = 'AGENT-KEY';
const withKey = (input: Buffer): Buffer =>
  Buffer.from(
    input.toString('latin1').replaceAll(KEY_PLACE, JSON.stringify(agent.public.pem).slice(1, -1)),
    'latin1',
  );

export const ACCEPTANCE: readonly Target[] = [
  {
    name: 'accept-release',
    corpus: [
      releasePayload(),
      releasePayload({ version: 7, subjects: [{ name: 'bundle/host', digest: BUNDLE_B }] }),
    ],
    mutate: mutateJson,
    run: async (input) => {
      const accepted = await importMedium(enrolled, { release: await sign(input, release) });
      const statement = accepted.release;
      insist(
        statement?.predicate.audience.environment === CHANNEL.environment && statement.statement.version >= 1,
        'a release for somebody else was accepted',
      );
      insist(
        statement?.bundles.every(({ digest }) => digest === BUNDLE_A || digest === BUNDLE_B) === true,
        'a release of a bundle that nobody signed was accepted',
      );
    },
  },
  {
    name: 'accept-site',
    corpus: [
      Buffer.from(
        sitePayload().toString().replaceAll(JSON.stringify(agent.public.pem).slice(1, -1), KEY_PLACE),
      ),
    ],
    mutate: mutateJson,
    run: async (input) => {
      const { site } = await importMedium(enrolled, { site: await sign(withKey(input), release) });
      insist(
        site.predicate.audience.site === 'plant-7' && site.agent.key === agent.public.pem,
        'for another agent',
      );
    },
  },
  {
    name: 'accept-bundle',
    corpus: [bundlePayload(BUNDLE_A)],
    mutate: mutateJson,
    run: async (input) => {
      const files = await sign(input, scheduler, approver);
      const accepted = await importMedium(enrolled, { bundles: new Map([[BUNDLE_A, files]]) });
      insist(accepted.release?.bundles[0]?.digest === BUNDLE_A, 'another bundle was accepted');
    },
  },
  {
    name: 'revocations',
    corpus: [revocationList([BUNDLE_A, BUNDLE_B]), revocationList([])],
    mutate: mutateJson,
    run: async (input) => {
      const subjects = [
        { name: 'bundle/host', digest: BUNDLE_A },
        { name: 'revocations', digest: digestOf(input) },
      ];
      const accepted = await importMedium(enrolled, {
        release: await sign(releasePayload({ subjects }), release),
        revocations: [input],
      });
      insist(
        accepted.release?.revoked.every((it) => typeof it === 'string') === true,
        'revokes what is not a digest',
      );
    },
  },
  {
    name: 'site-values',
    corpus: [
      canonicalBytes({
        fleet: 'acme',
        site: 'plant-7',
        values: { dns: '10.7.0.1' },
        agents: { 'line-1': { a: 1 } },
      }),
    ],
    mutate: mutateJson,
    run: async (input) => {
      const payload = JSON.parse(sitePayload().toString()) as { subject: { digest: { sha256: string } }[] };
      for (const { digest } of payload.subject) digest.sha256 = digestOf(input).slice(7);
      await importMedium(enrolled, { values: [input], site: await sign(canonicalBytes(payload), release) });
    },
  },
  {
    name: 'medium-tar',
    corpus: [file('media/full.tar')],
    mutate: mutateTar,
    run: async (input) => {
      const path = join(tmpdir(), `fuzz-${process.pid}.tar`);
      writeFileSync(path, input);
      try {
        await using open = await openMedium(path);
        const documents = await readChannelDocuments(open.blobs, open.medium?.documents ?? [], 'plant-7');
        const accepted = await acceptChannel(PRESS, documents, WHEN, POLICY);
        const digest = accepted.release?.statement.digest ?? GOLDEN_RELEASE;
        insist(digest === GOLDEN_RELEASE, 'a release that nobody signed was accepted');
      } finally {
        rmSync(path, { force: true });
      }
    },
  },
];
