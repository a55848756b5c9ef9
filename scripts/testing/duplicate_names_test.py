# SPDX-License-Identifier: Apache-2.0
"""What scripts/duplicate_names.py finds, and what it must not."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import duplicate_names  # noqa: E402


def names(text):
    return [name for _, name in duplicate_names.definitions(text)]


def findings(*texts):
    return duplicate_names.findings({f'{number}.cpp': text for number, text in enumerate(texts)})


class Finds(unittest.TestCase):
    def test_a_class_and_a_struct_of_one_name(self):
        found = findings('namespace emj {\nclass Pass {\n public:\n  Pass();\n};\n}',
                         '#include "a.hpp"\nnamespace emj {\nstruct Pass final : Base {\n};\n}\n')
        self.assertEqual(found, ['1.cpp:3: defines emj::Pass again: 0.cpp:2 does already; '
                                 'rename one, or put it into an anonymous namespace'])

    def test_the_same_name_whichever_way_its_namespace_is_written(self):
        self.assertEqual(len(findings('namespace a::b { enum class C : int { D }; }',
                                      'namespace a { inline namespace b { union C { int d; }; } }')), 1)

    def test_types_within_types(self):
        self.assertEqual(names('struct A { enum B { C }; private: class D { struct E {}; }; };'),
                         ['A', 'A::B', 'A::D', 'A::D::E'])
        self.assertEqual(len(findings('struct A::Impl { int a; };', 'struct A { struct Impl { int b; }; };')), 1)

    def test_templates_and_their_specialisations(self):
        self.assertEqual(names('template <class T, class = std::vector<int>> requires true struct A { T t; };\n'
                               'template <> struct std::hash<x::Id> { };'), ['A', 'std::hash<x::Id>'])

    def test_what_stands_in_the_way(self):
        self.assertEqual(names('''
            // struct Comment {
            /* struct Other { */
            #define OPEN {
            const char* text = "{ \\" {"; const char brace = '{'; int number = 1'000'000;
            const char* raw = R"x(struct Raw { ")x";
            extern "C" { struct [[nodiscard]] alignas(8) A { int a[3]{}; }; }
            '''), ['A'])

    def test_braces_that_it_cannot_follow(self):
        self.assertIn('0.cpp:2: cannot be read: more braces are opened than closed', findings('struct A {\n'))
        self.assertIn('0.cpp:1: cannot be read: more braces are closed than opened', findings('} struct A {};'))


class Accepts(unittest.TestCase):
    def test_what_no_other_file_can_see(self):
        hidden = 'namespace a { namespace { struct B { struct C {}; }; } void f() { struct D { }; } }'
        self.assertEqual(findings(hidden, hidden), [])

    def test_declarations_and_uses(self):
        used = ('class A; enum class B : int; struct A f(struct A a) { struct A b; return b; }\n'
                'struct A g() { return {}; } template <class T> void h() { } auto i = [] { return 1; };')
        self.assertEqual(findings(used, used), [])

    def test_one_name_in_two_namespaces(self):
        self.assertEqual(findings('namespace a { struct B {}; }', 'namespace b { struct B {}; }', 'struct B {};'), [])

    def test_two_sides_of_a_condition_in_one_file(self):
        self.assertEqual(findings('#if X\nstruct A { int a; };\n#else\nstruct A { int b; };\n#endif'), [])


if __name__ == '__main__':
    unittest.main()
