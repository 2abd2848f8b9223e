import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { type OpenMedium, REQUESTS_FOLDER } from '#bundles/medium/medium';
import { parseStrictJson } from '#bundles/strict-json';
import { parseDocument } from '#bundles/validate';

type Needs = { readonly fleet: string; readonly agent: string; readonly missing: readonly Digest[] };

/** A hundred thousand digests with room to spare. */
const MAX_BYTES = 16 << 20;

/** '1 blob', '2 blobs'. */
export const countOf = (blobs: number): string => `${blobs} blob${blobs === 1 ? '' : 's'}`;

/**
 * Blobs that imports from this medium missed, and who missed them. Anybody could have written the file; all it can do is make the medium
 * carry more of what is signed anyway, so a bad one is a note and no refusal.
 */
export const readNeeds = async (
  medium: OpenMedium,
): Promise<{ readonly asked: ReadonlyMap<Digest, string>; readonly notes: readonly string[] }> => {
  const asked = new Map<Digest, string>();
  const notes: string[] = [];
  for (const path of await medium.files(REQUESTS_FOLDER)) {
    if (!path.endsWith('-needs.json')) continue;
    try {
      const json = parseStrictJson(await medium.readFile(path, MAX_BYTES), { maxBytes: MAX_BYTES }, path);
      const needs = parseDocument<Needs>('needs', json, path);
      for (const digest of needs.missing) asked.set(digest, needs.agent);
      notes.push(`${needs.agent} asks for ${countOf(needs.missing.length)}`);
    } catch (error) {
      if (!isFleetError(error)) throw error;
      notes.push(`${path} is left aside: ${error.message}`);
    }
  }
  return { asked, notes };
};
