import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { type OpenMedium, REQUESTS_FOLDER } from '#bundles/medium/medium';
import { parseStrictJson } from '#bundles/strict-json';
import { parseDocument } from '#bundles/validate';

type Needs = { readonly fleet: string; readonly agent: string; readonly missing: readonly Digest[] };

/** A hundred thousand digests with room to spare. */
const MAX_BYTES = 16 << 20;

/**
 * Blobs that imports from this medium missed. Anybody could have written the file; all it can do is make the medium
 * carry more of what is signed anyway, so a bad one is a note and no refusal.
 */
export const readNeeds = async (
  medium: OpenMedium,
): Promise<{ readonly asked: readonly Digest[]; readonly notes: readonly string[] }> => {
  const asked: Digest[] = [];
  const notes: string[] = [];
  for (const path of await medium.files(REQUESTS_FOLDER)) {
    if (!path.endsWith('-needs.json')) continue;
    try {
      const json = parseStrictJson(await medium.readFile(path, MAX_BYTES), { maxBytes: MAX_BYTES }, path);
      const needs = parseDocument<Needs>('needs', json, path);
      asked.push(...needs.missing);
      notes.push(`${needs.agent} asks for ${needs.missing.length} blobs`);
    } catch (error) {
      if (!isFleetError(error)) throw error;
      notes.push(`${path} is left aside: ${error.message}`);
    }
  }
  return { asked, notes };
};
