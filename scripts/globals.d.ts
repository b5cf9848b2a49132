// What the type check of static/app must know beside the browser's own interfaces.
//
// TypeScript cannot know which element a selector, an event or a form's name finds: there any element will do.
// Everything else is checked: names, arguments, the browser's functions, and our own objects.

interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}

interface Element {
  closest(selectors: string): any;
}

interface Document {
  readonly activeElement: any;
  getElementById(id: string): any;
  addEventListener(type: string, listener: (event: any) => unknown, options?: boolean | AddEventListenerOptions): void;
}

interface PerformanceEntry {
  readonly type?: string; // of entries of the kind "navigation"
}

declare function addEventListener(type: string, listener: (event: any) => unknown, options?: boolean | AddEventListenerOptions): void;

interface HTMLElement {
  addEventListener(type: string, listener: (event: any) => unknown, options?: boolean | AddEventListenerOptions): void;
}
