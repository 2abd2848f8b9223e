import type { BlobSource } from '#bundles/formats/layout/blobs';
import { askFor } from '#bundles/formats/layout/verified';

/** The same blobs, as a registry has them: what is wanted as a whole is neither looked for nor opened, but asked for. */
export const byOneQuestion = ({ name, size, open }: BlobSource): BlobSource => ({
  name,
  size,
  open,
  get: (digest, wanted) => askFor({ name, size, open }, digest, wanted),
});
