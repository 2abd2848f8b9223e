import { resolve } from 'node:path';
import type { RootInput, TrustRoot } from '#bundles/trust/root';
import { createRoot } from '#bundles/trust/root';
import { rootFileName } from '../keys/root-file.ts';
import { writeNew } from '../keys/write-key-file.ts';
import { type Draft, judgeDraft } from './judge-draft.ts';

export type WrittenDraft = Draft & { readonly file: string };

/**
 * Writes a root that nobody has signed yet; what is there is never overwritten.
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
