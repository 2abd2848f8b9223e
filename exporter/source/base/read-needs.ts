import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { type OpenMedium, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parseAs } from '#bundles/json/parse-as';
import { NEEDS } from '#bundles/json/schema/validators';

/** Size limit in bytes, enough for more than a hundred thousand digests. */
const MAX_BYTES = 16 << 20;

/**
 * Blobs that imports from this medium lacked, with the agent that lacked them. The file is unsigned and can only add signed content
 * to the medium, so an invalid file is a note and not an error.
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
      const needs = parseAs(NEEDS, json, path);
      for (const digest of needs.missing) asked.set(digest, needs.agent);
      notes.push(`${needs.agent} asks for ${formatCount(needs.missing.length, 'blob')}`);
    } catch (error) {
      if (!isFleetError(error)) throw error;
      notes.push(`${path} is skipped: ${error.message}`);
    }
  }
  return { asked, notes };
};
