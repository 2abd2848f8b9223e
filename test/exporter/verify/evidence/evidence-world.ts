import { readFileSync, writeFileSync } from 'node:fs';
import { type Digest, digestOf } from '#bundles/digest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import type { SigningKey } from '#bundles/trust/keys/key';
import { type Recheck, recheck } from '../../../../exporter/verify/evidence/recheck.ts';
import { writeEvidence } from '../../../../exporter/verify/evidence/write-evidence.ts';
import type { BlobCheck } from '../../../../exporter/verify/check-blobs.ts';
import { type Verification, verifyMedium } from '../../../../exporter/verify/verify-medium.ts';
import { NOW, newSigningKey } from '../../../harness/fleets/signed-fleet.ts';
import { makeKioskWorld, type World } from '../../world.ts';

export type EvidenceWorld = World & {
  readonly auditor: SigningKey;
  readonly pinned: Digest;
  /** Verifies `medium` and keeps the evidence in `folder`. */
  readonly audit: (medium: string, folder?: string, now?: Date) => Promise<Verification>;
  /** Changes a file of the evidence; the first match of a text, which must be there. */
  readonly alter: (file: string, from: string, to: string) => void;
  readonly recheck: (more?: Partial<Parameters<typeof recheck>[0]>) => Promise<Recheck>;
};

/** A medium with release, site and receipts, and an auditor. */
export const makeEvidenceWorld = async (): Promise<EvidenceWorld> => {
  const world = await makeKioskWorld();
  await world.layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 9 }]);
  await world.export('medium', { sites: ['plant-7'] });
  const auditor = newSigningKey();
  const pinned = digestOf(world.fleet.roots[0] ?? '');
  return {
    ...world,
    auditor,
    pinned,
    audit: async (medium, folder = 'evidence', now = NOW) => {
      await using open = await openMedium(world.path(medium));
      const blobs: BlobCheck[] = [];
      let opened: ReadonlySet<Digest> = new Set();
      const verification = await verifyMedium(open, pinned, now, undefined, {
        onBlob: (blob) => blobs.push(blob),
        onJudged: (digests) => {
          opened = digests;
        },
      });
      const verified = { open, verification, blobs, opened, pinned, now, partial: false };
      await writeEvidence(world.path(folder), verified, auditor);
      return verification;
    },
    alter: (file, from, to) => {
      const path = world.path('evidence', file);
      const text = readFileSync(path, 'utf8');
      if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
      writeFileSync(path, text.replace(from, to));
    },
    recheck: (more = {}) =>
      recheck({
        folder: world.path('evidence'),
        keys: [auditor.public],
        pinned,
        medium: undefined,
        now: NOW,
        ...more,
      }),
  };
};
