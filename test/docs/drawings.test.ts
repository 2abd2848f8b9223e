import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../docs/images');
/** Drawings that the README and docs/concepts.md embed. */
const DRAWINGS = readdirSync(FOLDER).filter((name) => /^(?:flow|concept-.+)\.svg$/.test(name));

/** The README is often this wide, in CSS pixels: a wider drawing is scaled down to it. */
const COLUMN = 700;
const SMALLEST_TEXT = 12;

describe.each(DRAWINGS)('the drawing %s', (name) => {
  const svg = readFileSync(join(FOLDER, name), 'utf8');
  const numbers = (pattern: RegExp): readonly number[] =>
    [...svg.matchAll(pattern)].map(([, n]) => Number(n));

  it('has text of 12 pixels or more in a column of 700 pixels', () => {
    const [width = Infinity] = numbers(/^<svg [^>]*viewBox="0 0 (\d+) /g);
    const sizes = numbers(/font(?:-size)?: (?:\d{3} )?(\d+)px/g);
    expect(sizes).not.toEqual([]);
    expect(Math.min(...sizes) * Math.min(1, COLUMN / width)).toBeGreaterThanOrEqual(SMALLEST_TEXT);
  });

  it('has colours for a dark page and a text for people who do not see it', () => {
    expect(svg).toContain('@media (prefers-color-scheme: dark)');
    expect(svg).toMatch(/^<svg [^>]*role="img" aria-label="[^"]+"/);
  });
});
