/** RFC 7468: base64 in lines of 64 between two lines that say what it is. */
export const encodePem = (label: string, der: Uint8Array): string => {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
};
