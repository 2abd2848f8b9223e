import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextPageOf } from '#bundles/transport/registry/list-pages';

describe('the Link header', () => {
  it.each([
    ['</v2/a/tags/list?n=2&last=b>; rel="next"', '/v2/a/tags/list?n=2&last=b'],
    ['<https://r.example/x?a=1,2;3>; rel=next', 'https://r.example/x?a=1,2;3'],
    ['</first>; rel="first", </more>; title="a, \\"b\\""; rel="up next"', '/more'],
    ['</x>;rel="NEXT"', '/x'],
    ['</x>; rel="prev"', undefined],
    ['</x>', undefined],
    ['/x; rel="next"', undefined],
    ['', undefined],
  ])('%s leads to %s', (header, expected) => {
    expect(nextPageOf(header)).toBe(expected);
  });

  it('with several links yields the next page, for any characters in the URL', () => {
    const url = fc.string({ unit: fc.constantFrom(...Array.from('ab/:?&=,; "%')), minLength: 1 });
    fc.assert(
      fc.property(url, fc.array(url, { maxLength: 3 }), (next, others) => {
        const links = [...others.map((url) => `<${url}>; rel="prev"`), `<${next}>; rel="next"`];
        expect(nextPageOf(links.join(', '))).toBe(next);
      }),
    );
  });

  it('may be any text, without a crash or quadratic time', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('<>;="\\, re')) }), (text) => {
        nextPageOf(text);
      }),
    );
    for (const piece of [' ;', '; a', '<', '; a= ', ';a="']) nextPageOf(`<x>${piece.repeat(5000)}`);
  });
});
