/** First bytes of an uncompressed patch. */
export const MAGIC = Buffer.from('fleet-ferry delta 1\n');

/** RFC 1952: the part of a gzip header that is always there. */
export const GZIP_HEADER_BYTES = 10;
