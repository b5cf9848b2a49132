// Types for the check of static/app, in addition to the browser's interfaces.
//
// TypeScript cannot know which element a selector, an event or a form field returns, so these return any type.
// Everything else is checked: names, arguments, browser functions and our own objects.

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
