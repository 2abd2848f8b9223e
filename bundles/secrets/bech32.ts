const ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3] as const;

/** Is the check sum of a Bech32 text in lower case right (BIP 173), whatever its length? */
export const hasBech32Checksum = (text: string): boolean => {
  const at = text.lastIndexOf('1');
  const prefix = Array.from(text.slice(0, at), (char) => char.charCodeAt(0));
  const data = Array.from(text.slice(at + 1), (char) => ALPHABET.indexOf(char));
  if (at < 1 || data.includes(-1)) return false;
  let sum = 1;
  for (const value of [...prefix.map((code) => code >> 5), 0, ...prefix.map((code) => code & 31), ...data]) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    for (const [bit, factor] of GENERATOR.entries()) if ((top >>> bit) & 1) sum ^= factor;
  }
  return sum === 1;
};
