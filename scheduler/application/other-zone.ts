/** 400 days east of Greenwich: another year, month, day and hour on every date that is written out. */
const OFFSET_SECONDS = 400 * 86_400 + 11 * 3600 + 7 * 60;

/**
 * A time zone file (RFC 8536, version 1) that no place on earth has. A program that writes a date with it shows that it
 * looked at the clock.
 */
export const otherZone = (): Buffer => {
  const header = Buffer.alloc(44);
  header.write('TZif', 0, 'latin1');
  header.writeUInt32BE(1, 36); // one kind of local time
  header.writeUInt32BE(4, 40); // four bytes of names
  const kind = Buffer.alloc(6);
  kind.writeInt32BE(OFFSET_SECONDS, 0);
  return Buffer.concat([header, kind, Buffer.from('FAR\0', 'latin1')]);
};
