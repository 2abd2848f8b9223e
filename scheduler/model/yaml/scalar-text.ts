import type { Scalar } from 'yaml';

/**
 * A text scalar's value. The parser ends every block with a line feed, but a block that ends with the file may have none
 * (YAML 1.2 section 8.1.1.2, `b-chomped-last`), and templates would render it.
 */
export const scalarText = (node: Scalar, source: string): string => {
  const value = node.value as string;
  const block = node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED';
  const cutOff = block && !source.endsWith('\n') && (node.range?.[1] ?? 0) >= source.length;
  return cutOff && value.endsWith('\n') ? value.slice(0, -1) : value;
};
