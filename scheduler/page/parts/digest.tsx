import { Code } from '@mantine/core';

/** The first characters of a digest, without its algorithm. */
export const shortDigest = (digest: string): string => digest.replace(/^sha256:/, '').slice(0, 12);

/** The first characters of a digest; the whole digest is the title. */
export const ShortDigest = ({ of }: { readonly of: string }) => <Code title={of}>{shortDigest(of)}</Code>;
