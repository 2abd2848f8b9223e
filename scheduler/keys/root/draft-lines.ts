import { fingerprint } from '#bundles/trust/keys/key';
import { compareRoots } from './compare-roots.ts';
import { rootLines } from './describe-root.ts';
import { type Draft, signatureLines } from './judge-draft.ts';
import { rootNotes } from './root-notes.ts';
import type { WrittenDraft } from './write-draft.ts';

/** Text for an officer to review: the content of the root, its changes, and the signatures so far. */
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

/** Text after writing a new draft: the draft, and what each officer does with it. */
export const newDraftLines = (draft: WrittenDraft, now: Date): readonly string[] => [
  ...draftLines(draft, now),
  '',
  `${draft.file}: a draft. Next, on the laptop of each officer: fleet-scheduler root sign ${draft.file} --key <officer.key>`,
];

/** The draft for --json. */
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
