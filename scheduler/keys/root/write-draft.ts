import { resolve } from 'node:path';
import { createRoot, type RootInput, type TrustRoot } from '#bundles/trust/root/root';
import { rootFileName } from '../places/root-file.ts';
import { writeNew } from '../places/write-key-file.ts';
import { type Draft, judgeDraft } from './judge-draft.ts';

export type WrittenDraft = Draft & { readonly file: string };

/**
 * Writes a new root without signatures. Never overwrites a file.
 * @throws FleetError USAGE, ROOT_FORMAT
 */
export const writeDraft = async (
  input: RootInput,
  out: string | undefined,
  before?: TrustRoot,
): Promise<WrittenDraft> => {
  const bytes = await createRoot(input, []);
  const draft = judgeDraft(bytes, before);
  const file = out ?? rootFileName(input.version);
  await writeNew(resolve(file), bytes);
  return { ...draft, file };
};
