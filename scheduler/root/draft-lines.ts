import { fingerprint } from '#bundles/trust/key';
import { compareRoots } from './compare-roots.ts';
import { rootLines } from './describe-root.ts';
import type { Draft } from './judge-draft.ts';
import { signatureLines } from './judge-draft.ts';
import { rootNotes } from './root-notes.ts';

/** All that an officer must have read: what the root says, what is otherwise than before, and who has signed. */
export const draftLines = (draft: Draft, now: Date): readonly string[] => {
  const { root, before } = draft;
  const changes = before ? compareRoots(before, root) : [];
  return [
    ...rootLines(root, now),
    ...(before
      ? [
          '',
          `changes from root ${before.version}:`,
          ...(changes.length > 0 ? changes : ['none']).map((line) => `  ${line}`),
        ]
      : []),
    ...rootNotes(root, before).map((note) => `NOTE: ${note}`),
    '',
    ...signatureLines(draft),
  ];
};

/** As --json tells it. */
export const draftJson = ({ root, signatures, complete }: Draft) => ({
  fleet: root.fleet,
  version: root.version,
  digest: root.digest,
  dev: root.dev,
  complete,
  signatures: signatures.map(({ of, needed, signed, missing }) => ({
    of,
    needed,
    signed: signed.map(fingerprint),
    missing: missing.map(fingerprint),
  })),
});
