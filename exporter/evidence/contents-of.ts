import { canonicalBytes, type Json } from '#bundles/canonical';
import { MAX_MEDIUM_BYTES, MEDIUM_FILE, type OpenMedium } from '#bundles/medium/medium';

/** The bytes of fleet/medium.json; those of a set lie inside of its parts and are its name. */
export const contentsOf = async ({ form, medium, readFile }: OpenMedium): Promise<Buffer> =>
  form === 'parts' ? canonicalBytes(medium as unknown as Json) : readFile(MEDIUM_FILE, MAX_MEDIUM_BYTES);
