import { readOptional, sizeOf } from '#bundles/formats/medium/plain-files';

/** True if the file exists with this content. @throws FleetError MEDIUM_INVALID, PERMISSION, IO */
export const hasContent = async (root: string, path: string, bytes: Buffer): Promise<boolean> => {
  if ((await sizeOf(root, path)) !== bytes.byteLength) return false;
  const there = await readOptional(root, path, bytes.byteLength);
  return there?.equals(bytes) ?? false;
};
